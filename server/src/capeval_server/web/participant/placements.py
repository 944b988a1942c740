"""Placement of a submission's score among the leaderboard's scores, as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from capeval_server.challenges.models import Phase
from capeval_server.leaderboards.entries import RankedSubmission
from capeval_server.leaderboards.query import LeaderboardQuery
from capeval_server.leaderboards.ranking import places
from capeval_server.submissions.models import Submission
from capeval_server.submissions.selectors.scores import ScoreTable, ScoreWithInterval, higher_is_better

__all__ = ["Placing", "placings"]

WIDTH = 600
FEWEST_OTHERS = 3


@dataclass(frozen=True, kw_only=True)
class Placing:
    """Placement of a submission's score on a leaderboard, with plot coordinates.

    Attributes:
        name: The name of the score.
        references: The names of the split and the reference set.
        value: The score of the submission.
        low: The lowest value drawn.
        high: The highest value drawn.
        x: The position of the submission's score.
        left: The position at which its interval begins.
        width: The width of its interval.
        others: The positions of other teams' scores.
        human_x: The position of the human baseline, or "" if there is none.
        human: The score of the human baseline, if there is one.
        comparison: `higher` or `lower`, whichever is better.
        worse: The number of other scores that are worse.
    """

    name: str
    references: str
    value: float
    low: float
    high: float
    x: str
    left: str
    width: str
    others: list[str]
    human_x: str
    human: float | None
    comparison: str
    worse: int


def placings(submission: Submission, tables: Sequence[ScoreTable], now: datetime) -> list[Placing]:
    """Return the placement by each reference set, in the order of the tables.

    Args:
        submission: The submission.
        tables: Its scores by the current references.
        now: The current time.

    Returns:
        Nothing if the leaderboard is not public. Reference sets with fewer than three other scores are
        omitted, because a plot of one or two values is less useful than the leaderboard.
    """
    phase = submission.phase
    if phase is None or not phase.shows_leaderboard(now):
        return []
    found = (_place(submission, phase, table) for table in tables)
    return [placing for placing in found if placing is not None]


def _find_own_score(table: ScoreTable) -> ScoreWithInterval | None:
    """Return the score on all images that the leaderboard is sorted by."""
    cells = next((row.cells for row in table.rows if row.name == table.split.sort_by), [])
    return cells[table.groups.index("")] if cells and "" in table.groups else None


def _list_others(submission: Submission, phase: Phase, table: ScoreTable) -> list[RankedSubmission]:
    team = submission.team.name if submission.team else ""
    question = LeaderboardQuery(
        phase=phase,
        split=table.split,
        reference_set=table.reference_version.reference_set,
        version=table.reference_version,
        subset="",
        sort_by=table.split.sort_by,
        best_first=True,
        as_of=None,
    )
    # The row of the submission's own team is this submission, or would be replaced by it.
    return [
        one for one in places(question) if one.score is not None and (one.baseline or one.entrant != team)
    ]


def _place(submission: Submission, phase: Phase, table: ScoreTable) -> Placing | None:
    own = _find_own_score(table)
    if own is None or own.value is None:
        return None
    value, others = own.value, _list_others(submission, phase, table)
    scores = [one.score for one in others if one.score is not None and not one.baseline]
    if len(scores) < FEWEST_OTHERS:
        return None
    human = next((one.score for one in others if one.baseline), None)
    start, end = (value if edge is None else edge for edge in (own.low, own.high))
    drawn = [*scores, value, start, end, *(() if human is None else (human,))]
    low, high = min(drawn), max(drawn)
    span = high - low or 1.0
    better = higher_is_better(table.split, table.split.sort_by)

    def x(score: float) -> str:
        return f"{4 + (WIDTH - 8) * (score - low) / span:.1f}"

    return Placing(
        name=table.split.sort_by,
        references=f"{table.split.name} {table.references}",
        value=value,
        low=low,
        high=high,
        x=x(value),
        left=x(start),
        width=f"{(WIDTH - 8) * (end - start) / span:.1f}",
        others=[x(score) for score in scores],
        human_x="" if human is None else x(human),
        human=human,
        comparison="higher" if better else "lower",
        worse=sum(score < value if better else score > value for score in scores),
    )
