"""`capeval study diversity`: diversity of captions and images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Argument, Option, check_options
from capeval.cli.toolkit.options import FrequencyOptions
from capeval.cli.toolkit.output import Steps, examples, name_systems
from capeval.cli.toolkit.study_output import Folder, write_study_report
from capeval.errors import OptionError
from capeval.studies.diversity.options import DiversityOptions, ImageDiversityOptions, SimilarityOption

if TYPE_CHECKING:
    from capeval.data.captions import References
    from capeval.studies.diversity import ObjectCounts

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 110
EXAMPLES = examples(
    "capeval study diversity nocaps_val.json --coco",
    "capeval study diversity a.json b.json --images 1000 --captions 5 -o figures",
    "capeval study diversity nocaps_val.json --coco --objects instances_val2017.json",
    "capeval study diversity samples.json --within-images --training captions_train2014.json",
)


@dataclass(frozen=True, kw_only=True)
class WithinOptions:
    """Options and files for comparing the captions of each image."""

    within_images: Annotated[
        bool,
        Option(help="Compare the captions of each image: Div-n, mBLEU, Self-CIDEr, novel captions."),
    ] = False
    training: Annotated[
        Path | None, Option(help="Training captions, to count novel ones (--within-images).")
    ] = None
    counts: FrequencyOptions = field(default_factory=FrequencyOptions)
    similarity: SimilarityOption = ImageDiversityOptions.similarity

    def __post_init__(self) -> None:
        check_options(self)

    def check(self, options: DiversityOptions, objects: Sequence[Path]) -> None:
        """Validate the combination of options.

        Raises:
            OptionError: An option belongs to the other measures.
        """
        if self.within_images and (options.across_punctuation or objects):
            raise OptionError("--within-images can't be combined with --across-punctuation or --objects")
        if not self.within_images and (self.training is not None or self.counts.frequencies is not None):
            raise OptionError("--training and --frequencies require --within-images")


def run(
    corpora: Annotated[
        list[Path] | None, Argument(metavar="REFERENCES...", help="Files of captions.")
    ] = None,
    coco: Annotated[bool, Option(help="Add COCO val2014, from pycocoevalcap.")] = False,
    *,
    options: DiversityOptions,
    objects: Annotated[
        list[Path] | None, Option(help="File of objects: COCO instances (JSON) or Open Images boxes.")
    ] = None,
    class_names: Annotated[Path | None, Option(help="Open Images class names, for boxes.")] = None,
    within: WithinOptions,
    output: Folder = None,
) -> None:
    """Count unique n-grams, caption lengths, and objects per image.

    N-grams are counted in samples of equal size. --within-images instead measures differences between the
    captions of each image, over all images.
    """
    from capeval.studies.diversity import diversity
    from capeval.studies.diversity.report import report

    paths, annotations = corpora or [], objects or []
    if not paths and not coco:
        raise OptionError("REFERENCES or --coco is required (got neither)")
    within.check(options, annotations)
    if within.within_images:
        _compare_within_images(paths, within, options.captions, output, coco=coco)
        return
    with Steps(len(paths) + coco + 1) as steps:
        captions_of = _read_corpora(paths, steps, coco=coco)
        steps.next("Counting n-grams")
        found = diversity(captions_of, options)
    write_study_report(report(found, _read_object_counts(annotations, class_names)), output)


def _compare_within_images(
    paths: Sequence[Path], within: WithinOptions, captions: int | None, output: Path | None, *, coco: bool
) -> None:
    """Measure the diversity of the captions of each image."""
    from capeval.cli.toolkit.scoring import apply_frequencies
    from capeval.datasets.nocaps import load_captions
    from capeval.metrics.cider import CiderD
    from capeval.resources import DocumentFrequencies
    from capeval.studies.diversity.images import image_diversity
    from capeval.studies.diversity.report import image_report
    from capeval.tokenizers import Tokenizer

    options = ImageDiversityOptions(captions=captions, similarity=within.similarity)
    (metric,) = apply_frequencies((CiderD(),), within.counts, Tokenizer())
    counted = metric.frequencies if isinstance(metric, CiderD) else None
    found = {}
    with Steps(2 * (len(paths) + coco) + (within.training is not None)) as steps:
        captions_of = _read_corpora(paths, steps, coco=coco)
        training = None
        if within.training is not None:
            steps.next(f"Reading {within.training.name}")
            training = load_captions(within.training)
        for name, corpus in captions_of.items():
            steps.next(f"Comparing the captions of {name}")
            found[name] = image_diversity(
                corpus,
                options,
                training=training,
                frequencies=counted if isinstance(counted, DocumentFrequencies) else None,
            )
    write_study_report(image_report(found), output)


def _read_corpora(paths: Sequence[Path], steps: Steps, *, coco: bool) -> dict[str, References]:
    """Return the captions of COCO val2014, if requested, and of each file."""
    from capeval.datasets import coco as benchmark
    from capeval.datasets.nocaps import load_captions

    captions_of = {}
    if coco:
        steps.next("Reading COCO val2014")
        captions_of["COCO val2014"] = benchmark.load_captions("val2014")
    for name, path in name_systems(paths).items():
        steps.next(f"Reading {name}")
        captions_of[name] = load_captions(path)
    return captions_of


def _read_object_counts(paths: Sequence[Path], class_names: Path | None) -> dict[str, ObjectCounts]:
    """Return the object counts of each file of annotations."""
    from capeval.datasets.coco_objects import load_coco_objects
    from capeval.datasets.open_images import load_boxes, load_class_names
    from capeval.studies.diversity import count_objects

    counts = {}
    for name, path in name_systems(paths).items():
        if ".csv" not in path.suffixes:
            objects = load_coco_objects(path)
        elif class_names is None:
            raise OptionError("boxes of Open Images require --class-names")
        else:
            objects = load_boxes(path, load_class_names(class_names)).by_image()
        counts[name] = count_objects(objects)
    return counts
