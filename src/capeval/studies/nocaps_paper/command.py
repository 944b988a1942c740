"""`capeval study nocaps-paper`: the tables and figures of the nocaps paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.options import InputOptions, SpiceLongest, metric_names
from capeval.cli.toolkit.output import Steps, examples, name_systems
from capeval.cli.toolkit.study_output import Folder, write_paper_report
from capeval.errors import OptionError

if TYPE_CHECKING:
    from capeval.data.captions import References
    from capeval.datasets.coco_objects import Objects

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 220
EXAMPLES = examples(
    "capeval study nocaps-paper nocaps_val.json --output nocaps-paper",
    "capeval study nocaps-paper nocaps_val.json --results Up-Down=updown.json --results NBT=nbt.json",
    "capeval study nocaps-paper nocaps_val.json --objects validation-annotations-bbox.csv"
    " --class-names class-descriptions-boxable.csv --image-info nocaps_val_image_info.json",
)


@dataclass(frozen=True, kw_only=True)
class ObjectFiles:
    """Files with the objects in images, for Figure 2.

    Raises:
        OptionError: The files can't be combined.
    """

    objects: Annotated[Path | None, Option(help="Open Images boxes of the validation images.")] = None
    class_names: Annotated[Path | None, Option(help="Open Images class names, for --objects.")] = None
    image_info: Annotated[
        Path | None, Option(help="nocaps image information, to map Open Images ids to image ids.")
    ] = None
    coco_objects: Annotated[Path | None, Option(help="COCO's instances_val2017.json.")] = None

    def __post_init__(self) -> None:
        if (self.objects is None) != (self.class_names is None):
            raise OptionError("--objects requires --class-names, and vice versa")

    def read(self, captions: References) -> dict[str, Objects]:
        """Return the objects of each dataset.

        Args:
            captions: The captions of nocaps, for the images.
        """
        from capeval.datasets.coco_objects import load_coco_objects
        from capeval.datasets.nocaps import load_image_ids
        from capeval.datasets.open_images import load_boxes, load_class_names

        found: dict[str, Objects] = {}
        if self.objects is not None and self.class_names is not None:
            boxes = load_boxes(self.objects, load_class_names(self.class_names)).by_image()
            ids = {} if self.image_info is None else load_image_ids(self.image_info)
            by_image = {ids.get(image, image): classes for image, classes in boxes.items()}
            found["nocaps"] = {image: by_image.get(image, {}) for image in captions}
        if self.coco_objects is not None:
            found["COCO"] = load_coco_objects(self.coco_objects)
        return found


def run(
    captions: Annotated[Path, Argument(help="Captions of nocaps's validation images.")],
    *,
    domains: Annotated[
        Path | None, Option(help="File of image domains.", show_default="domains in CAPTIONS")
    ] = None,
    results: Annotated[
        list[Path] | None,
        Option(
            metavar="NAME=FILE",
            help="Results on the validation images, such as NBT=nbt.json for this row of Table 2.",
        ),
    ] = None,
    coco: Annotated[
        Path | None, Option(help="COCO captions, for Table 1.", show_default="val2014 from pycocoevalcap")
    ] = None,
    metrics: Annotated[
        Sequence[str] | None,
        Option(
            "--metrics",
            "-m",
            metavar="NAME,...",
            help="Metrics of Table 2, comma-separated or repeated.",
            show_default="CIDEr-D and SPICE",
        ),
    ] = None,
    spice_longest: SpiceLongest = None,
    objects: ObjectFiles,
    output: Folder = None,
) -> None:
    """Compare the tables and figures of the nocaps paper with computed results.

    Every published number is met or not met, and every difference has a reason. With '--output', the command
    writes a page (report.md), all numbers and the figures.
    """
    from capeval.cli.toolkit.inputs import CaptionReader
    from capeval.cli.toolkit.resource_setup import prepare_metrics
    from capeval.cli.toolkit.scoring import load_captions
    from capeval.datasets.nocaps import load_domains, number_images
    from capeval.metrics.registry import DefaultMetrics
    from capeval.studies.nocaps_paper import DRAWS, METRICS, study_nocaps_paper
    from capeval.studies.nocaps_paper.report import report

    named = name_systems(results or [])
    ready = prepare_metrics(metric_names(metrics or DefaultMetrics(METRICS)), spice_longest)
    reading = CaptionReader(InputOptions(image_info=objects.image_info))
    loaded = load_captions(captions, list(named.values()), reading, prepare=number_images)
    with Steps(2 + DRAWS + len(named)) as steps:
        steps.next("Reading domains, objects and captions of COCO")
        study = study_nocaps_paper(
            loaded.references,
            load_domains(domains or captions, images=loaded.references),
            ready,
            coco=_read_coco(coco),
            objects=objects.read(loaded.references),
            systems=dict(zip(named, loaded.candidates, strict=True)),
            progress=steps.next,
        )
    write_paper_report(report(study), output)


def _read_coco(path: Path | None) -> References | None:
    """Return the captions in a file, or those of pycocoevalcap if it is installed."""
    from capeval.cli.toolkit.inputs import references_from
    from capeval.datasets import coco

    if path is not None:
        return references_from(path)
    return coco.load_captions("val2014") if coco.is_installed() else None
