"""`capeval baselines constraints`: constraints for captions, from object boxes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from capeval.errors import MismatchError, OptionError
from capeval.toolkit.command_line import (
    Argument,
    FormatOption,
    Option,
    check_outputs,
    examples,
    render,
)

if TYPE_CHECKING:
    from capeval.data.captions import ImageId
    from capeval.datasets.word_forms import WordForms
    from capeval.report import Grid
    from capeval_decoding.constraint_filter import Decision

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval baselines constraints boxes.csv --class-names classes.csv --hierarchy hierarchy.json",
    "capeval baselines constraints detections.json --class-names classes.csv --hierarchy hierarchy.json"
    " -o constraints.json",
)


ConstraintRule = Literal["paper", "published"]


BoxForm = Literal["corners", "size"]


def run(
    boxes: Annotated[
        Path, Argument(help="Boxes of Open Images classes: ground truth as CSV, or detections as JSON.")
    ],
    class_names: Annotated[Path, Option(help="Names of Open Images classes.")],
    hierarchy: Annotated[Path, Option(help="Open Images hierarchy.")],
    image_info: Annotated[
        Path | None, Option(help="nocaps image information, maps Open Images ids to image ids.")
    ] = None,
    rule: Annotated[
        ConstraintRule, Option(help="Filter rule: as in the paper, or as in the published code.")
    ] = "paper",
    box_form: Annotated[
        BoxForm, Option(help="Form of detection boxes: X1, Y1, X2, Y2, or X, Y, width, height.")
    ] = "corners",
    parents: Annotated[
        bool, Option(help="Also accept words of the next higher classes, such as bear for polar bear.")
    ] = False,
    overlap: Annotated[float, Option(help="Minimum intersection over union of overlapping boxes.")] = 0.85,
    most: Annotated[int, Option(min=1, help="Maximum number of constraints per image.")] = 3,
    seed: Annotated[int, Option(min=0, help="Seed for the choice among boxes of equal confidence.")] = 0,
    dropped: Annotated[bool, Option(help="Also show the dropped boxes, with reasons.")] = False,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Also write the constraints as JSON.")
    ] = None,
    form: FormatOption = "table",
) -> None:
    """Derive constraints on captions from object boxes, and show their words."""
    from capeval.datasets.nocaps import load_image_ids
    from capeval.datasets.open_images import load_class_names
    from capeval.datasets.word_forms import load_word_forms
    from capeval.formats.constraints import write_constraints
    from capeval_decoding.boxes import load_detections, load_ground_truth
    from capeval_decoding.constraint_filter import ConstraintFilter, load_hierarchy

    if form == "json":
        raise OptionError(
            "--format json is not available here; use --output to write the constraints as JSON"
        )
    check_outputs([boxes, class_names, hierarchy], [output])
    options = ConstraintFilter(rule=rule, overlap=overlap, most=most, seed=seed)
    forms, names = load_word_forms(), load_class_names(class_names)
    tree = load_hierarchy(hierarchy, names, forms)
    if parents:
        forms = forms.add_parents(tree.parents)
    if ".csv" in boxes.name.lower() or ".tsv" in boxes.name.lower():
        images = load_ground_truth(boxes, names)
    else:
        images = load_detections(boxes, form=box_form)
    if image_info is not None:
        ids = load_image_ids(image_info)
        images = {ids[image]: each for image, each in images.items() if image in ids}
        if not images:
            raise MismatchError(f"{image_info} lists no image of {boxes}")
    try:
        decided = {image: options.decide(image, each, tree, forms) for image, each in images.items()}
    except OptionError as error:
        raise OptionError(f"{boxes}: {error}") from None
    if output is not None:
        constraints = {
            image: {each.name: forms.phrases[each.name] for each in decisions if not each.reason}
            for image, decisions in decided.items()
        }
        write_constraints(constraints, output)
    render(_make_grid(decided, forms, dropped=dropped), form, None)


def _make_grid(decided: Mapping[ImageId, tuple[Decision, ...]], forms: WordForms, *, dropped: bool) -> Grid:
    from capeval.report import Cell, Grid

    rows: list[tuple[Cell, ...]] = []
    for image, decisions in decided.items():
        shown = [each for each in decisions if dropped or not each.reason]
        for each in shown:
            words = f"({each.reason})" if each.reason else ", ".join(forms.phrases[each.name])
            rows.append(tuple(Cell(value=value) for value in (image, each.name, each.score, words)))
        if not shown:
            rows.append((Cell(value=image), *[Cell(value=None)] * 3))
    counts = [sum(not each.reason for each in decisions) for decisions in decided.values()]
    note = (
        f"images: {len(counts):,}; constraints: {sum(counts):,};"
        f" images without constraints: {counts.count(0):,}"
    )
    return Grid(columns=("Image", "Class", "Score", "Words"), rows=tuple(rows), notes=(note,))
