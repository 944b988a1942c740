"""Paired tests of two submissions, in every score that both have."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import F

from capeval.scoring.comparisons import Method
from capeval.scoring.significance import describe_test, format_p_value
from capeval_server.challenges.models import ReferenceSet
from capeval_server.leaderboards.significance import StoredScore, compare_stored, load_stored
from capeval_server.submissions.models import Score, Submission
from capeval_server.submissions.selectors.precision import round_p_value, shown
from capeval_server.submissions.selectors.scores import score_names

__all__ = ["ComparedSet", "ScoreComparison", "compared"]


@dataclass(frozen=True, kw_only=True)
class ScoreComparison:
    """One score of two submissions, and the 95% interval of their difference.

    The interval is from a paired bootstrap over images. The test is paired randomization, which exchanges the
    captions of each image. Scores that an earlier version of the server stored are tested by paired bootstrap
    over images.

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
        test: Test of the p-value, `randomization` or `bootstrap`.
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
    test: Method
    differs: bool


@dataclass(frozen=True, kw_only=True)
class ComparedSet:
    """Comparison of two submissions by one reference set; rounded if it is private.

    Attributes:
        references: The reference set.
        rows: The comparison of each score.
        p_values: The text of each row's p-value.
        tests: The sentence on each row's test.
    """

    references: ReferenceSet
    rows: list[ScoreComparison]
    p_values: list[str]
    tests: list[str]


# A comparison, the text of its p-value, and a sentence on its test.
_Row = tuple[ScoreComparison, str, str]


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
    listed = list(scores.order_by("pk"))
    stored = load_stored(listed)
    for score in listed:
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
            _compare_scores(references, key[0], stored.get(a.pk), stored.get(b.pk), full or references.public)
            for key, a, b in pairs
        )
        rows = _sort_rows(references, [row for row in found_rows if row is not None])
        if rows:
            compared_rows, p_values, tests = zip(*rows, strict=True)
            found_set = ComparedSet(
                references=references,
                rows=list(compared_rows),
                p_values=list(p_values),
                tests=list(tests),
            )
            sets.append(found_set)
    return sets


def _compare_scores(
    references: ReferenceSet, subset: str, a: StoredScore | None, b: StoredScore | None, full: bool
) -> _Row | None:
    """Return the comparison with the texts of its p-value and its test; None without stored samples."""
    found = compare_stored(a, b)
    if found is None:
        return None
    first, second, low, high = (
        _round_score(value, full) for value in (found.a, found.b, found.low, found.high)
    )
    row = ScoreComparison(
        split=references.split.name,
        references=references.name,
        version=references.version,
        name=found.name,
        subset=subset,
        first=first,
        second=second,
        # Computed from the rounded scores: a precise difference would reveal more of private references.
        difference=_round_score(first - second, full),
        low=low,
        high=high,
        p_value=float(round_p_value(found.p_value, full=full) or 0.0),
        test=found.method,
        differs=found.is_significant,
    )
    return row, format_p_value(found, digits=4 if full else 2), describe_test(found)


def _round_score(value: float, full: bool) -> float:
    number = shown(value, full=full)
    if number is None:
        raise ValueError("a score must be finite")
    return number


def _sort_rows(references: ReferenceSet, rows: list[_Row]) -> list[_Row]:
    """Sort rows: all images before subsets, then in the order of the split's metrics."""
    names = score_names(references.split)
    return sorted(rows, key=lambda row: (row[0].subset != "", row[0].subset, names.index(row[0].name)))
