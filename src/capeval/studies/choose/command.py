"""`capeval study choose`: image selection for a benchmark."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.options import Seed
from capeval.cli.toolkit.output import Steps, examples
from capeval.cli.toolkit.study_output import Folder, write_study_report

if TYPE_CHECKING:
    from capeval.data.captions import ImageId
    from capeval.datasets.nocaps import Domains
    from capeval.datasets.open_images import ObjectAnnotations

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
        Option(help="Open Images hierarchy, to write the files of a campaign that collects captions."),
    ] = None,
    sample: Annotated[int, Option(min=1, help="Number of images drawn for each choice.")] = 100,
    seed: Seed = 0,
    output: Folder = None,
) -> None:
    """Choose images with many classes and an even class distribution (nocaps, 3.1).

    The tables compare the chosen images with a random choice of the same size and with all candidates.
    --output also writes the files of the next steps: downloads, a campaign, splits and domains.
    """
    from capeval.datasets import open_images
    from capeval.datasets.selection import choose_images, compare_selection
    from capeval.errors import OptionError
    from capeval.studies.choose.project_files import create_texts, require_new_files, write_texts
    from capeval.studies.choose.report import report

    if hierarchy is not None:
        if names is None or output is None:
            raise OptionError("--hierarchy requires --names and --output")
        require_new_files(output)
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
    items: list[dict[str, object]] = []
    domains: Domains = {}
    if hierarchy is not None and class_names is not None:
        items, domains = _describe_images(annotations, places, hierarchy, class_names)
    listed = [sources[annotations.image_ids[place]] for place in places] if sources else []
    found = report(study, listed, domains)
    title = "" if output is None else output.absolute().name
    texts = create_texts(title, items=items, images=listed, domains=domains)
    write_study_report(found, output, write=lambda folder: write_texts(folder, texts))


def _describe_images(
    annotations: ObjectAnnotations, places: Sequence[int], hierarchy: Path, names: Mapping[str, str]
) -> tuple[list[dict[str, object]], Domains]:
    """Return the items of a campaign, and the images of each domain if the class names include COCO's."""
    from capeval.datasets import nocaps, open_images
    from capeval.errors import CapevalWarning, OptionError
    from capeval.studies.choose.project_files import add_domains, create_items

    parts = open_images.load_parts(hierarchy, names)
    items = create_items(annotations, places, parts=parts)
    below = open_images.load_class_hierarchy(hierarchy, names)
    try:
        mapped = nocaps.map_classes(names.values(), nocaps.COCO_CLASSES, below=below)
    except OptionError as error:
        warnings.warn(f"domains.json is left out: {error}", CapevalWarning, stacklevel=2)
        return items, {}
    objects, ids = annotations.by_image(), [annotations.image_ids[place] for place in places]
    shown: dict[ImageId, Iterable[str]] = {image: objects[image] for image in ids}
    domains = nocaps.assign_domains(shown, mapped, classes=set(names.values()))
    return add_domains(items, domains), domains
