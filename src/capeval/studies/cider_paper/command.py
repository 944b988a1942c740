"""`capeval study cider-paper`: the tables and figures of the CIDEr paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Option
from capeval.cli.toolkit.output import Steps, examples
from capeval.cli.toolkit.study_output import Folder, write_paper_report
from capeval.errors import OptionError
from capeval.studies.cider_paper.options import CiderPaperOptions

if TYPE_CHECKING:
    from capeval.studies.cider_paper import AbstractResults, PascalResults

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 210
EXAMPLES = examples(
    "capeval study cider-paper --pascal data/pascal50s --abstract data/abstract50s --output cider-paper",
    "capeval study cider-paper --flickr8k data/flickr8k",
)


def run(
    pascal: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="PASCAL-50S: pascal50S.mat, pair_pascal.mat and pascal_50s_5refs.json.",
        ),
    ] = None,
    abstract: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="ABSTRACT-50S: consensus_abstract.mat, abstract_cands{B,C}.json, abstract50S.mat.",
        ),
    ] = None,
    flickr8k: Annotated[
        Path | None,
        Option(metavar="FOLDER", help="Flickr8K: Flickr8k.token.txt and ExpertAnnotations.txt."),
    ] = None,
    *,
    options: CiderPaperOptions,
    output: Folder = None,
) -> None:
    """Compare the tables and figures of the CIDEr paper with computed results.

    Every published number is met or not met, and every difference has a reason. Parts without files are not
    computed. JSON and text files may be gzipped. With --output, the command writes a page (report.md), all
    numbers and the figures.
    """
    from capeval.cli.toolkit.contenders import select_contenders
    from capeval.studies.cider_paper.compute import ABSTRACT_STEPS, COUNTS, PASCAL_STEPS
    from capeval.studies.cider_paper.report import report

    if pascal is None and abstract is None and flickr8k is None:
        raise OptionError("'--pascal', '--abstract' or '--flickr8k' is required (got none)")
    select_contenders(None)
    draws = len(COUNTS) * options.draws
    count = (pascal is not None) * (PASCAL_STEPS + draws) + (flickr8k is not None)
    count += (abstract is not None) * (ABSTRACT_STEPS + draws)
    with Steps(count) as steps:
        of_pascal = None if pascal is None else _study_pascal(pascal, options, steps)
        of_abstract = None if abstract is None else _study_abstract(abstract, options, steps)
        of_flickr8k = None if flickr8k is None else _study_flickr8k(flickr8k, steps)
    write_paper_report(report(of_pascal, of_abstract, of_flickr8k), output)


def _study_pascal(folder: Path, options: CiderPaperOptions, steps: Steps) -> PascalResults:
    from capeval.datasets.pascal50s import load_pascal50s
    from capeval.datasets.sentences50s import load_sentences
    from capeval.studies.cider_paper import study_paper_pascal

    sentences = load_sentences(folder / "pascal50S.mat")
    return study_paper_pascal(*load_pascal50s(folder), sentences, options, progress=steps.next)


def _study_abstract(folder: Path, options: CiderPaperOptions, steps: Steps) -> AbstractResults:
    from capeval.datasets.pascal50s import load_abstract50s
    from capeval.datasets.sentences50s import load_sentences
    from capeval.studies.cider_paper import study_paper_abstract

    path = folder / "abstract50S.mat"
    sentences = load_sentences(path) if path.exists() else None
    return study_paper_abstract(load_abstract50s(folder), sentences, options, progress=steps.next)


def _study_flickr8k(folder: Path, steps: Steps) -> dict[str, float]:
    from capeval.datasets.flickr8k import load_flickr8k_expert
    from capeval.studies.cider_paper import study_paper_flickr8k

    steps.next("Flickr8K: ratings")
    ratings, captions = (
        next((path for path in (folder / name, folder / f"{name}.gz") if path.exists()), folder / name)
        for name in ("ExpertAnnotations.txt", "Flickr8k.token.txt")
    )
    return study_paper_flickr8k(*load_flickr8k_expert(ratings, captions))
