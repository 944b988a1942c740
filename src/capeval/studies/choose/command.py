"""`capeval study choose`: image selection for a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.options import Seed
from capeval.cli.toolkit.output import Steps, examples
from capeval.cli.toolkit.study_output import Folder, write_study_report

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 130
EXAMPLES = examples(
    "capeval study choose test-annotations-bbox.csv -n 10600 --rotations test-images-with-rotation.csv",
    "capeval study choose test-annotations-bbox.csv -n 10600 --rotations test-images-with-rotation.csv"
    " --names classes.csv --hierarchy hierarchy.json -o project",
    "capeval study choose validation-annotations-bbox.csv -n 4500 --sample 1000 --seed 7 -o chosen",
)


def run(
    boxes: Annotated[Path, Argument(help="Open Images CSV of boxes.")],
    images: Annotated[int, Option("--images", "-n", min=1, help="Number of images to choose.")],
    rotations: Annotated[
        Path | None,
        Option(
            help="Open Images CSV of images and their rotations.", show_default="none excluded for rotation"
        ),
    ] = None,
    names: Annotated[
        Path | None, Option(help="Open Images CSV of class names.", show_default="labels")
    ] = None,
    hierarchy: Annotated[
        Path | None,
        Option(help="Open Images hierarchy, to write items of a campaign with keywords except parts."),
    ] = None,
    sample: Annotated[int, Option(min=1, help="Number of images drawn for each choice.")] = 100,
    seed: Seed = 0,
    output: Folder = None,
) -> None:
    """Choose images with many classes and an even class distribution (nocaps, 3.1).

    The tables compare the chosen images with a random choice of the same size and with all candidates.
    """
    from capeval.datasets import open_images
    from capeval.datasets.selection import choose_images, compare_selection
    from capeval.errors import OptionError
    from capeval.studies.choose.project_files import create_items, write_project_files
    from capeval.studies.choose.report import report

    if hierarchy is not None and (names is None or output is None):
        raise OptionError("--hierarchy requires --names and --output")
    with Steps(3 + images // 1000) as steps:
        steps.next("Reading boxes")
        class_names = None if names is None else open_images.load_class_names(names)
        annotations = open_images.load_boxes(boxes, class_names)
        steps.next("Reading rotations")
        degrees = None if rotations is None else open_images.load_rotations(rotations)
        sources = {} if rotations is None else open_images.load_image_sources(rotations)
        steps.next("Choosing")
        chosen = choose_images(
            annotations, images, rotations=degrees, sample=sample, seed=seed, progress=steps.next
        )
        study = compare_selection(annotations, chosen, seed=seed)
    places = chosen.positions.tolist()
    items = []
    if hierarchy is not None and class_names is not None:
        parts = open_images.load_parts(hierarchy, class_names)
        items = create_items(annotations, places, parts=parts)
    listed = [sources[annotations.image_ids[place]] for place in places] if sources else []
    found = report(study, listed)
    write_study_report(found, output, write=lambda folder: write_project_files(folder, items, listed))
