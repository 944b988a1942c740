"""Paired tests of two submissions, in every score that both have."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import F

from capeval.errors import MismatchError
from capeval.scoring.significance import difference, format_p_value
from capeval_server.challenges.models import ReferenceSet
from capeval_server.leaderboards.significance import resampled
from capeval_server.submissions.models import Score, Submission
from capeval_server.submissions.selectors.precision import round_p_value, shown
from capeval_server.submissions.selectors.scores import score_names

__all__ = ["ComparedSet", "ScoreComparison", "compared"]


@dataclass(frozen=True, kw_only=True)
class ScoreComparison:
    """One score of two submissions, and the 95% interval of their difference.

    The interval is from a paired bootstrap over images.

    Attributes:
        split: Name of the split.
        references: Name of the reference set.
        version: Version of the references.
        subset: Name of the subset; empty for all images.
        name: Name of the score.
        first: Score of the first submission.
        second: Score of the second submission.
        difference: First score minus second score.
        low: Lower end of the interval of the difference.
        high: Upper end of the interval of the difference.
        p_value: Two-sided p-value.
        differs: True if the p-value is at most 0.05.
    """

    split: str
    references: str
    version: int
    subset: str
    name: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float
    differs: bool


@dataclass(frozen=True, kw_only=True)
class ComparedSet:
    """Comparison of two submissions by one reference set; rounded if it is private.

    Attributes:
        references: The reference set.
        rows: The comparison of each score.
        p_values: The text of each row's p-value.
    """

    references: ReferenceSet
    rows: list[ScoreComparison]
    p_values: list[str]


def compared(first: Submission, second: Submission, *, full: bool = False) -> list[ComparedSet]:
    """Compare two submissions by each reference set that has scores of both.

    Args:
        first: A submission.
        second: Another submission to the same challenge.
        full: Whether to show all digits of scores by private references, as for organizers.
    """
    scores = Score.objects.filter(
        result__submission__in=(first.pk, second.pk),
        result__reference_version__number=F("result__reference_version__reference_set__version"),
    ).select_related("result__reference_version__reference_set__split")
    scores = scores.defer("result__log", "result__reference_version__reference_set__split__image_ids")
    found: dict[ReferenceSet, dict[tuple[str, str], dict[object, Score]]] = {}
    for score in scores.order_by("pk"):
        group = found.setdefault(score.result.reference_version.reference_set, {})
        group.setdefault((score.subset, score.name), {})[score.result.submission_id] = score
    sets = []
    for references in sorted(found, key=lambda one: (one.split.pk, one.pk)):
        pairs = [
            (key, both[first.pk], both[second.pk])
            for key, both in found[references].items()
            if first.pk in both and second.pk in both
        ]
        found_rows = (
            _compare_scores(references, key, a, b, full or references.public) for key, a, b in pairs
        )
        rows = _sort_rows(references, [row for row in found_rows if row is not None])
        if rows:
            found_set = ComparedSet(
                references=references, rows=[row for row, _ in rows], p_values=[text for _, text in rows]
            )
            sets.append(found_set)
    return sets


def _compare_scores(
    references: ReferenceSet, key: tuple[str, str], a: Score, b: Score, full: bool
) -> tuple[ScoreComparison, str] | None:
    """Return the comparison and the text of its p-value; None without stored resamples of both."""
    one, other = resampled(a), resampled(b)
    if one is None or other is None:
        return None
    try:
        found = difference(one, other)
    except MismatchError:
        # The number of resamples is a setting, which changed between the scoring of the two.
        return None
    first, second, low, high = (
        _round_score(value, full) for value in (found.a, found.b, found.low, found.high)
    )
    row = ScoreComparison(
        split=references.split.name,
        references=references.name,
        version=references.version,
        name=key[1],
        subset=key[0],
        first=first,
        second=second,
        # Computed from the rounded scores: a precise difference would reveal more of private references.
        difference=_round_score(first - second, full),
        low=low,
        high=high,
        p_value=float(round_p_value(found.p_value, full=full) or 0.0),
        differs=found.is_significant,
    )
    return row, format_p_value(found, digits=4 if full else 2)


def _round_score(value: float, full: bool) -> float:
    number = shown(value, full=full)
    if number is None:
        raise ValueError("a score must be finite")
    return number


def _sort_rows(
    references: ReferenceSet, rows: list[tuple[ScoreComparison, str]]
) -> list[tuple[ScoreComparison, str]]:
    """Sort rows: all images before subsets, then in the order of the split's metrics."""
    names = score_names(references.split)
    return sorted(rows, key=lambda row: (row[0].subset != "", row[0].subset, names.index(row[0].name)))
