"""`capeval study diversity`: compares how diverse the captions of corpora are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from capeval._internal.options import Argument, Option, check_options
from capeval.cli.toolkit.options import FrequencyOptions, Seed
from capeval.cli.toolkit.output import Steps, examples, system_names
from capeval.cli.toolkit.study_output import Folder, show
from capeval.errors import OptionError
from capeval.studies.diversity.options import Similarity

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
class NgramOptions:
    """Options of counts of n-grams and objects."""

    across_punctuation: Annotated[bool, Option(help="Count n-grams across commas and other marks too.")] = (
        False
    )
    words: Annotated[
        Literal["paper", "reference"],
        Option(help="Words as in the paper's counts, or tokens of the reference's tokenizer."),
    ] = "paper"
    objects: Annotated[
        list[Path] | None, Option(help="Objects: COCO instances (JSON) or Open Images boxes.")
    ] = None
    class_names: Annotated[Path | None, Option(help="Names of Open Images classes, for boxes.")] = None

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class WithinOptions:
    """Options of a comparison of the captions of each image."""

    within_images: Annotated[
        bool,
        Option(help="How much the captions of each image differ: Div-n, mBLEU, Self-CIDEr, new captions."),
    ] = False
    training: Annotated[
        Path | None, Option(help="Captions trained on, to count new ones (--within-images).")
    ] = None
    counts: FrequencyOptions = field(default_factory=FrequencyOptions)
    similarity: Annotated[
        Similarity, Option(help="Similarity of two captions, for Self-CIDEr (--within-images).")
    ] = "CIDEr-D"

    def __post_init__(self) -> None:
        check_options(self)

    def check(self, ngrams: NgramOptions) -> None:
        """Validate the combination of options.

        Raises:
            OptionError: An option is for the other measures.
        """
        if self.within_images and (ngrams.across_punctuation or ngrams.objects):
            raise OptionError("--within-images can't be given with --across-punctuation or --objects")
        if not self.within_images and (self.training is not None or self.counts.frequencies is not None):
            raise OptionError("--training and --frequencies are for --within-images (got no --within-images)")


def run(
    corpora: Annotated[
        list[Path] | None, Argument(metavar="REFERENCES...", help="Files of captions.")
    ] = None,
    coco: Annotated[bool, Option(help="Add COCO val2014, from pycocoevalcap.")] = False,
    images: Annotated[int, Option(min=1, help="Images in each sample.")] = 4500,
    captions: Annotated[
        int | None,
        Option(
            min=1,
            help="Captions of each image.",
            show_default="5; with --within-images, as many as every image has",
        ),
    ] = None,
    samples: Annotated[int, Option(min=1, help="Samples of each corpus.")] = 10,
    *,
    ngrams: NgramOptions,
    within: WithinOptions,
    seed: Seed = 0,
    output: Folder = None,
) -> None:
    """Counts unique n-grams in samples of one size, lengths of captions, and objects in images.

    With --within-images it measures how much the captions of each image differ, of all images.
    """
    from capeval.studies.diversity import COLLECTED, diversity
    from capeval.studies.diversity.report import report
    from capeval.tokenizers import Tokenizer

    paths = corpora or []
    if not paths and not coco:
        raise OptionError("REFERENCES or --coco must be given (got neither)")
    within.check(ngrams)
    if within.within_images:
        _within_images(paths, within, captions, output, coco=coco)
        return
    with Steps(len(paths) + coco + 1) as steps:
        captions_of = _read(paths, steps, coco=coco)
        steps.next("Counting n-grams")
        found = diversity(
            captions_of,
            images=images,
            captions=COLLECTED[1] if captions is None else captions,
            samples=samples,
            seed=seed,
            across_punctuation=ngrams.across_punctuation,
            tokenizer=None if ngrams.words == "paper" else Tokenizer(),
        )
    show(report(found, _object_counts(ngrams.objects or [], ngrams.class_names)), output)


def _within_images(
    paths: Sequence[Path], options: WithinOptions, count: int | None, output: Path | None, *, coco: bool
) -> None:
    """Measure how much the captions of each image differ."""
    from capeval.cli.toolkit.scoring import weighed
    from capeval.datasets.nocaps import load_captions
    from capeval.metrics.cider import CiderD
    from capeval.resources import DocumentFrequencies
    from capeval.studies.diversity.images import image_diversity
    from capeval.studies.diversity.report import image_report
    from capeval.tokenizers import Tokenizer

    (metric,) = weighed((CiderD(),), options.counts, Tokenizer())
    counted = metric.frequencies if isinstance(metric, CiderD) else None
    found = {}
    with Steps(2 * (len(paths) + coco) + (options.training is not None)) as steps:
        captions_of = _read(paths, steps, coco=coco)
        training = None
        if options.training is not None:
            steps.next(f"Reading {options.training.name}")
            training = load_captions(options.training)
        for name, captions in captions_of.items():
            steps.next(f"Comparing the captions of {name}")
            found[name] = image_diversity(
                captions,
                count=count,
                training=training,
                frequencies=counted if isinstance(counted, DocumentFrequencies) else None,
                similarity=options.similarity,
            )
    show(image_report(found), output)


def _read(paths: Sequence[Path], steps: Steps, *, coco: bool) -> dict[str, References]:
    """The captions of COCO val2014, where they are asked for, and those of each file."""
    from capeval.datasets import coco as benchmark
    from capeval.datasets.nocaps import load_captions

    captions_of = {}
    if coco:
        steps.next("Reading COCO val2014")
        captions_of["COCO val2014"] = benchmark.captions("val2014")
    for name, path in zip(system_names(list(paths)), paths, strict=True):
        steps.next(f"Reading {name}")
        captions_of[name] = load_captions(path)
    return captions_of


def _object_counts(paths: Sequence[Path], class_names: Path | None) -> dict[str, ObjectCounts]:
    """The objects of each file of annotations."""
    from capeval.datasets.coco_objects import load_coco_objects
    from capeval.datasets.open_images import load_boxes, load_class_names
    from capeval.studies.diversity import count_objects

    counts = {}
    for name, path in zip(system_names(paths), paths, strict=True):
        if ".csv" not in path.suffixes:
            objects = load_coco_objects(path)
        elif class_names is None:
            raise OptionError("--class-names must be given for boxes of Open Images (got none)")
        else:
            objects = load_boxes(path, load_class_names(class_names)).by_image()
        counts[name] = count_objects(objects)
    return counts
