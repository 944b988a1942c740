"""Data classes of leaderboards, shared by final results, pages, API and CSV."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from capeval.scoring.comparisons import Method
from capeval_server.leaderboards.judgments import JudgmentDetails
from capeval_server.leaderboards.layouts import LeaderboardColumn
from capeval_server.leaderboards.query import LeaderboardQuery
from capeval_server.leaderboards.reported_entries import ReportedEntry
from capeval_server.submissions.selectors.precision import shown

__all__ = [
    "Interval",
    "JudgmentSource",
    "Leaderboard",
    "LeaderboardEntry",
    "MetricAgreement",
    "RankedSubmission",
    "ShownScores",
    "SubmissionStanding",
    "new_entry",
    "shown_scores",
]

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class LeaderboardEntry:
    """Submission on a leaderboard, or a human baseline, which has no rank.

    Attributes:
        rank: Rank from 1. Equal scores have equal ranks. None for a human baseline and without a score.
        submission: Id of the submission.
        team: Name of the team.
        algorithm: Name of the method.
        declared: Public fields that the team declared.
        submitted: Time of the upload.
        baseline: True for a human baseline.
        flag_reason: Reason why an organizer flagged the submission; empty if it is not flagged.
        rescoring: True while the submission waits for scores by the current references.
        failed: Labels of the columns whose scores could not be computed.
        scores: Score of each column by its label, including human judgments.
        intervals: 95% interval of each score.
        judgments: Number of answers behind each human judgment, and their agreement.
        p_value: P-value of the difference to the next row, in the score that ranks. None for mean ranks, and
            for judgments if the next judged system is not the next row.
        test: Test of the p-value: `randomization` of the captions of each image, or `bootstrap` of the images
            for human judgments and for scores that an earlier version of the server stored.
        differs_from_next: True if the p-value is at most 0.05.
        note: Change of the submission after the results became final.
        extra: Values of registered columns that have no field here, by column name.
    """

    rank: int | None = None
    submission: UUID
    team: str
    algorithm: str
    declared: Mapping[str, str]
    submitted: datetime
    baseline: bool
    flag_reason: str
    rescoring: bool = False
    failed: Sequence[str]
    scores: Mapping[str, float | None]
    intervals: Mapping[str, Interval | None]
    judgments: Mapping[str, JudgmentDetails] = field(default_factory=dict)
    p_value: float | None = None
    test: Method | None = None
    differs_from_next: bool | None = None
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class JudgmentSource:
    """Source of a column with human judgments.

    Attributes:
        column: Label of the column.
        question: Name of the question, such as M1.
        measures: Meaning of the scores.
        campaign: Title of the campaign.
        release: Name of the frozen release that contains the judgments.
        notes: Notes on the intervals, and on the collection of answers that affects their interpretation.
    """

    column: str
    question: str
    measures: str
    campaign: str
    release: str
    notes: list[str]


@dataclass(frozen=True, kw_only=True)
class MetricAgreement:
    """Correlation of a metric with human judgments, over systems.

    Attributes:
        judgment: Label of the column with the judgments.
        metric: Label of the column with the metric.
        systems: Number of systems with both.
        reported: Whether the systems are rows that were reported elsewhere.
        kendall: Kendall's tau-b.
        kendall_low: Lower end of its 95% interval over systems.
        kendall_high: Upper end of the interval.
        pearson: Pearson's r.
        pearson_low: Lower end of its 95% interval over systems.
        pearson_high: Upper end of the interval.
    """

    judgment: str
    metric: str
    systems: int
    reported: bool
    kendall: float
    kendall_low: float
    kendall_high: float
    pearson: float
    pearson_low: float
    pearson_high: float


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """Rows of a leaderboard, or one page of them.

    Attributes:
        question: The query of the leaderboard.
        columns: Labels of the score columns.
        judgments: Sources of the columns with human judgments.
        total: Number of all rows.
        page: Number of the page, from 1; None if `rows` contains all rows.
        pages: Number of pages.
        rescoring: Number of submissions that wait for scores by the current references.
        rows: All rows, or the rows of the page.
        reported: Externally reported scores. They are not rows, and are on the first page only.
        reported_undeclared: Number of reported rows that are hidden because they do not declare the fields
            that the leaderboard is filtered by, on the first page only.
        mean_rank_scores: Scores of the column `Mean rank`; empty without the column.
        agreement: Correlation of each metric with the human judgments over at least five judged systems, the
            same on all pages.
        final: Time at which the results became final.
    """

    question: LeaderboardQuery
    columns: list[str]
    judgments: list[JudgmentSource]
    total: int
    page: int | None
    pages: int
    rescoring: int
    rows: list[LeaderboardEntry]
    reported: list[ReportedEntry]
    reported_undeclared: int
    mean_rank_scores: list[str]
    agreement: list[MetricAgreement]
    final: datetime | None = None

    @property
    def reported_only(self) -> list[str]:
        """Names of the human judgments that only reported rows have."""
        return [name for entry in self.reported[:1] for name in entry.scores if name not in self.columns]


class RankedSubmission(NamedTuple):
    """Submission with the score that ranks it.

    `key` is the submission's id in the database's own format, which is much faster to read for thousands of
    rows. `stamp` is its row version; None in final results. `score_id` is the primary key of the score.
    `mean_rank` is its mean rank, if the leaderboard shows mean ranks.
    """

    key: str
    stamp: int | None
    baseline: bool
    entrant: str
    score: float | None
    score_id: int | None
    mean_rank: float | None = None

    @property
    def sample(self) -> tuple[str, int] | None:
        """Key of its stored score."""
        return None if self.score_id is None else (self.key, self.score_id)

    @property
    def submission(self) -> UUID:
        """Id of the submission."""
        return UUID(self.key)


class SubmissionStanding(NamedTuple):
    """Submission with its rank and the test of its difference to the next row."""

    place: RankedSubmission
    rank: int | None
    p_value: float | None
    test: Method | None
    differs_from_next: bool | None


class ShownScores(NamedTuple):
    """Scores of a submission in a leaderboard's columns, as in `LeaderboardEntry`."""

    failed: list[str]
    scores: dict[str, float | None]
    intervals: dict[str, Interval | None]


def shown_scores(
    columns: Sequence[LeaderboardColumn],
    failed: Collection[tuple[str, str]],
    numbers: Mapping[tuple[str, str, str], Sequence[float | None]],
    *,
    full: bool,
) -> ShownScores:
    """Return the scores of a submission in some columns.

    Args:
        columns: The columns.
        failed: Reference set and name of the scores that could not be computed.
        numbers: Value and interval ends by reference set, score name and subset.
        full: Whether to show all digits also of scores by private references.
    """
    scores: dict[str, float | None] = {}
    intervals: dict[str, Interval | None] = {}
    for column in columns:
        ends = numbers.get((column.references, column.name, column.subset), (None, None, None))
        # Each column by its own references: one table can have public and private ones.
        value, low, high = (shown(number, full=full or column.public) for number in ends)
        scores[column.label] = value
        intervals[column.label] = None if low is None or high is None else (low, high)
    labels = [column.label for column in columns if (column.references, column.name) in failed]
    return ShownScores(labels, scores, intervals)


_FIELDS = frozenset(found.name for found in fields(LeaderboardEntry))


def new_entry(
    standing: SubmissionStanding, facts: Mapping[str, Any], scores: ShownScores, **known: Any
) -> LeaderboardEntry:
    """Return the row of a submission.

    Args:
        standing: The submission with its rank.
        facts: Values of the columns that are read from submissions, by name.
        scores: Its scores.
        known: Other fields of the row.
    """
    place = standing.place
    if not facts.keys() <= _FIELDS:
        known["extra"] = {name: value for name, value in facts.items() if name not in _FIELDS}
        facts = {name: value for name, value in facts.items() if name in _FIELDS}
    return LeaderboardEntry(
        rank=standing.rank,
        submission=place.submission,
        team=place.entrant,
        baseline=place.baseline,
        p_value=standing.p_value,
        test=standing.test,
        differs_from_next=standing.differs_from_next,
        failed=scores.failed,
        scores=scores.scores,
        intervals=scores.intervals,
        **facts,
        **known,
    )
