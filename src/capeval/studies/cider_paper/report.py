"""The report of the CIDEr paper, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from capeval.studies.cider_paper.accuracy_parts import (
    list_curve_parts,
    report_pairwise,
    report_pilot,
    report_table,
)
from capeval.studies.cider_paper.compute import AbstractResults, PascalResults
from capeval.studies.cider_paper.ranking_parts import report_rank_correlation, report_ranks
from capeval.studies.cider_paper.systems_parts import (
    report_flickr8k,
    report_humans,
    report_sentences,
    report_wins,
)
from capeval.studies.shared.papers import PaperPart, PaperReport

__all__ = ["report"]

_FIGURE_5 = {
    "CIDEr-2015-1": "CIDEr-2015-1",
    "ROUGE-1": "ROUGE-1",
    "BLEU-1 without brevity penalty": "BLEU-1 without brevity penalty",
    "BLEU-1": "BLEU-1",
}
_FIGURE_6 = {"CIDEr-2015-1": "CIDEr-2015-1", "CIDEr-D-1": "CIDEr-D-1 on stems"}
_PASCAL, _ABSTRACT, _BOTH = "'--pascal'", "'--abstract'", "'--pascal' or '--abstract'"
_MISSING = {
    "Figures 1, 2, 8, 9 and 10": "They show images, sentences and screens.",
    "Figure 7": "It shows sentences. 'capeval study consensus --browse' writes a page with such pairs.",
    "Section 7.4 on PASCAL-50S": "We do not have the single votes (consensus_pascal.mat).",
}


def report(
    pascal: PascalResults | None, abstract: AbstractResults | None, flickr8k: Mapping[str, float] | None
) -> PaperReport:
    """Compare all parts of the paper with computed results; None for data that are missing."""
    studies = [None if each is None else each.study for each in (pascal, abstract)]
    figure_3b, figure_3c, figure_11, figure_12 = list_curve_parts(pascal, abstract)
    # Each part with the options that name its files.
    parts = (
        (report_sentences(pascal, abstract), _BOTH),
        (report_pilot(pascal), _PASCAL),
        (figure_3b, _PASCAL),
        (figure_3c, _ABSTRACT),
        (report_flickr8k(flickr8k), "'--flickr8k'"),
        (report_table(*studies), _BOTH),
        (report_wins(pascal), _PASCAL),
        (report_humans(abstract), _ABSTRACT),
        (report_rank_correlation(pascal, abstract), _BOTH),
        (report_pairwise(pascal), _PASCAL),
        (report_ranks(pascal, "Figure 5", _FIGURE_5), _PASCAL),
        (report_ranks(pascal, "Figure 6", _FIGURE_6), _PASCAL),
        (figure_11, _PASCAL),
        (figure_12, _ABSTRACT),
    )
    return PaperReport(
        title="The CIDEr paper",
        source="Vedantam, Zitnick and Parikh 2015, CIDEr: Consensus-based Image Description Evaluation.",
        parts=tuple(_add_option(part, option) for part, option in parts),
        missing=_MISSING,
    )


def _add_option(part: PaperPart, option: str) -> PaperPart:
    """Return the part; if it was not computed, with the option that names its files."""
    if part.verdict != "not computed":
        return part
    return replace(part, reason=f"Name the files with {option}. {part.reason}".rstrip())
