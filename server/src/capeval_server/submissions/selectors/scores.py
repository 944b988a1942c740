"""Score tables of submissions for pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from capeval.metrics import METRICS
from capeval_server.challenges.models import ReferenceVersion, Split
from capeval_server.submissions.models import Result, Score, Submission
from capeval_server.submissions.selectors.precision import shown

__all__ = [
    "ScoreRow",
    "ScoreTable",
    "ScoreWithInterval",
    "headline",
    "higher_is_better",
    "score_names",
    "score_tables",
]

# Submissions in one query.
_BATCH = 1000


@dataclass(frozen=True, kw_only=True)
class ScoreWithInterval:
    """Score of all images or of a subset, with its interval if available."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class ScoreRow:
    """One score of each image group, or the failure of a metric.

    Attributes:
        name: The score's name, or the metric's name after a failure.
        cells: One cell per group, in the table's order; None for a missing score.
        failure: The reason of the failure; empty without one.
    """

    name: str
    cells: list[ScoreWithInterval | None] = field(default_factory=list)
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """All scores by one version of a split's references, rounded if these are private.

    Attributes:
        split: The split.
        references: The name of the reference set.
        public: Whether its references are public.
        version: The version.
        current: The current version.
        groups: The subsets, in order; the empty name, for all images, comes first.
        rows: The scores.
        signatures: The signature of each metric with scores.
        reference_version: The stored references.
    """

    split: Split
    references: str
    public: bool
    version: int
    current: int
    groups: list[str]
    rows: list[ScoreRow]
    signatures: list[tuple[str, str]]
    reference_version: ReferenceVersion

    @property
    def stale(self) -> bool:
        """Whether there are newer references."""
        return self.version != self.current


def score_names(split: Split) -> list[str]:
    """Return the names of the scores of a split, in order."""
    return [name for metric in split.metrics for name in METRICS[metric]().names]


def higher_is_better(split: Split, score: str) -> bool:
    """Return whether a higher value of a score of a split is better."""
    metrics = (METRICS[name]() for name in split.metrics)
    return next((metric.higher_is_better for metric in metrics if score in metric.names), True)


def score_tables(submission: Submission) -> list[ScoreTable]:
    """Return the score tables of a submission by split, references and version."""
    results = submission.results.select_related("reference_version__reference_set__split")
    results = results.defer("reference_version__reference_set__split__image_ids", "log")
    by_version: dict[Any, list[Result]] = {}
    for result in results:
        by_version.setdefault(result.reference_version, []).append(result)
    scores: dict[int, list[Score]] = {}
    for score in Score.objects.filter(result__submission=submission).defer("samples").order_by("pk"):
        scores.setdefault(score.result_id, []).append(score)
    tables = [_build_table(version, found, scores) for version, found in by_version.items()]

    def order(table: ScoreTable) -> tuple[bool, int, int, int]:
        return table.stale, table.split.pk, table.reference_version.reference_set_id, -table.version

    return sorted(tables, key=order)


def _build_table(version: Any, results: Iterable[Result], scores: dict[int, list[Score]]) -> ScoreTable:
    split, public = version.reference_set.split, version.reference_set.public
    order = {metric: place for place, metric in enumerate(split.metrics)}
    ordered = sorted(results, key=lambda result: (order.get(result.metric, len(order)), result.metric))
    subsets = sorted({score.subset for result in ordered for score in scores.get(result.pk, ())})
    groups = subsets or [""]
    rows = [
        row for result in ordered for row in _build_rows(result, scores.get(result.pk, []), groups, public)
    ]
    return ScoreTable(
        split=split,
        references=version.reference_set.name,
        public=public,
        version=version.number,
        current=version.reference_set.version,
        groups=groups,
        rows=rows,
        signatures=[(result.metric, result.signature) for result in ordered if result.signature],
        reference_version=version,
    )


def _build_rows(result: Result, scores: list[Score], groups: list[str], public: bool) -> list[ScoreRow]:
    if result.failure:
        return [ScoreRow(name=result.metric, failure=result.failure)]
    found: dict[str, dict[str, ScoreWithInterval]] = {}
    for score in scores:
        value, low, high = (shown(number, full=public) for number in (score.value, score.low, score.high))
        cell = ScoreWithInterval(value=value, low=low, high=high)
        found.setdefault(score.name, {})[score.subset] = cell
    known = list(METRICS[result.metric]().names) if result.metric in METRICS else []
    names = sorted(found, key=lambda name: known.index(name) if name in known else len(known))
    return [ScoreRow(name=name, cells=[found[name].get(group) for group in groups]) for name in names]


def headline(
    submissions: Iterable[Submission], splits: Iterable[Split], *, full: bool = False
) -> dict[Any, dict[int, float | None]]:
    """Return the score that leaderboards sort by, by submission and reference set.

    The scores are of all images. Scores by private references are rounded, unless `full`.
    """
    wanted = Q(pk__in=[])
    for split in splits:
        wanted |= Q(result__reference_version__reference_set__split=split, name=split.sort_by)
    columns = (
        "result__submission_id",
        "result__reference_version__reference_set_id",
        "result__reference_version__reference_set__public",
        "result__reference_version__number",
        "result__reference_version__reference_set__version",
        "value",
    )
    keys = [one.pk for one in submissions]
    found: dict[Any, dict[int, float | None]] = {}
    # Databases have a maximum number of parameters.
    for first in range(0, len(keys), _BATCH):
        scores = Score.objects.filter(
            wanted, result__submission__in=keys[first : first + _BATCH], subset=""
        ).values_list(*columns)
        for submission, references, public, number, current, value in scores:
            if number == current:
                found.setdefault(submission, {})[references] = shown(value, full=full or public)
    return found
