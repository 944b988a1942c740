"""`capeval study diversity`: compares how diverse the captions of corpora are."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval.cli.commands import Argument, Option
from capeval.cli.console import Steps, examples, system_names
from capeval.cli.options import Seed
from capeval.cli.studies.output import Folder, show
from capeval.errors import OptionError

if TYPE_CHECKING:
    from capeval.studies.diversity import ObjectCounts

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval study diversity nocaps_val.json --coco",
    "capeval study diversity a.json b.json --images 1000 --captions 5 -o figures",
    "capeval study diversity nocaps_val.json --coco --objects instances_val2017.json",
)


class Words(StrEnum):
    """The definition of a word."""

    PAPER = "paper"
    REFERENCE = "reference"


def run(
    corpora: Annotated[
        list[Path] | None,
        Argument(metavar="REFERENCES...", help="Files of captions.", show_default=False),
    ] = None,
    coco: Annotated[bool, Option("--coco", help="Add COCO val2014, from pycocoevalcap.")] = False,
    images: Annotated[int, Option(min=1, help="Images in each sample.")] = 4500,
    captions: Annotated[int, Option(min=1, help="Captions of each image.")] = 5,
    samples: Annotated[int, Option(min=1, help="Samples of each corpus.")] = 10,
    across: Annotated[
        bool, Option("--across-punctuation", help="Count n-grams across commas and other marks too.")
    ] = False,
    words: Annotated[
        Words, Option(help="Words as in the paper's counts, or tokens of the reference's tokenizer.")
    ] = Words.PAPER,
    objects: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE", help="Objects: COCO instances (JSON) or Open Images boxes.", show_default=False
        ),
    ] = None,
    class_names: Annotated[
        Path | None,
        Option(metavar="FILE", help="Names of Open Images classes, for boxes.", show_default=False),
    ] = None,
    seed: Seed = 0,
    output: Folder = None,
) -> None:
    """Counts unique n-grams in samples of one size, lengths of captions, and objects in images."""
    from capeval.benchmarks import coco as benchmark
    from capeval.benchmarks.nocaps import load_captions
    from capeval.report.studies.diversity import report
    from capeval.studies.diversity import diversity
    from capeval.tokenization import Tokenizer

    paths = corpora or []
    if not paths and not coco:
        raise OptionError("REFERENCES or --coco must be given (got neither)")
    names = system_names(paths)
    with Steps(len(names) + coco + 1) as steps:
        captions_of = {}
        if coco:
            steps.next("Reading COCO val2014")
            captions_of["COCO val2014"] = benchmark.captions("val2014")
        for name, path in zip(names, paths, strict=True):
            steps.next(f"Reading {name}")
            captions_of[name] = load_captions(path)
        steps.next("Counting n-grams")
        ngrams = diversity(
            captions_of,
            images=images,
            captions=captions,
            samples=samples,
            seed=seed,
            across_punctuation=across,
            tokenizer=None if words is Words.PAPER else Tokenizer(),
        )
    show(report(ngrams, _object_counts(objects or [], class_names)), output)


def _object_counts(paths: Sequence[Path], class_names: Path | None) -> dict[str, ObjectCounts]:
    """The objects of each file of annotations."""
    from capeval.formats.objects import load_coco_objects
    from capeval.formats.open_images import load_boxes, load_class_names
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
