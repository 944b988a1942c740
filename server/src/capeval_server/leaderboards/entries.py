"""Data classes of leaderboards, shared by final results, pages, API and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from capeval.scoring.comparisons import Method
from capeval_server.leaderboards.query import LeaderboardColumn, LeaderboardQuery
from capeval_server.leaderboards.reported_entries import ReportedEntry
from capeval_server.submissions.selectors.precision import shown

__all__ = [
    "Interval",
    "Leaderboard",
    "LeaderboardEntry",
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
        scores: Score of each column by its label.
        intervals: 95% bootstrap interval of each score.
        p_value: P-value of the difference to the next row, in the score that ranks.
        test: Test of the p-value: `randomization` of the captions of each image, or `bootstrap` of the images
            for scores that an earlier version of the server stored.
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
    p_value: float | None = None
    test: Method | None = None
    differs_from_next: bool | None = None
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """Rows of a leaderboard, or one page of them.

    Attributes:
        question: The query of the leaderboard.
        columns: Labels of the score columns.
        total: Number of all rows.
        page: Number of the page, from 1; None if `rows` contains all rows.
        pages: Number of pages.
        rescoring: Number of submissions that wait for scores by the current references.
        rows: All rows, or the rows of the page.
        reported: Externally reported scores. They are not rows, and are on the first page only.
        final: Time at which the results became final.
    """

    question: LeaderboardQuery
    columns: list[str]
    total: int
    page: int | None
    pages: int
    rescoring: int
    rows: list[LeaderboardEntry]
    reported: list[ReportedEntry]
    final: datetime | None = None


class RankedSubmission(NamedTuple):
    """Submission with the score that ranks it.

    `key` is the submission's id in the database's own format, which is much faster to read for thousands of
    rows. `stamp` is its row version; None in final results. `score_id` is the primary key of the score.
    """

    key: str
    stamp: int | None
    baseline: bool
    entrant: str
    score: float | None
    score_id: int | None

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
    failed: Iterable[str],
    numbers: Mapping[tuple[str, str], Sequence[float | None]],
    *,
    full: bool,
) -> ShownScores:
    """Return the scores of a submission in some columns.

    Args:
        columns: The columns.
        failed: Names of the scores that could not be computed.
        numbers: Value and interval ends by score name and subset.
        full: Whether to show all digits.
    """
    scores: dict[str, float | None] = {}
    intervals: dict[str, Interval | None] = {}
    for column in columns:
        ends = numbers.get((column.name, column.subset), (None, None, None))
        value, low, high = (shown(number, full=full) for number in ends)
        scores[column.label] = value
        intervals[column.label] = None if low is None or high is None else (low, high)
    return ShownScores([column.label for column in columns if column.name in failed], scores, intervals)


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
