"""Where a submission's score lies among those on the leaderboard, as SVG within the page."""

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
    """A score among those of a leaderboard.

    Attributes:
        name: The score's name.
        references: Which split and set of references gave it.
        value: The submission's own.
        low: The lowest that is drawn.
        high: The highest that is drawn.
        x: Where its own is drawn.
        left: Where its interval begins.
        width: How wide its interval is drawn.
        others: Where the scores of other teams are drawn.
        human_x: Where the human baseline is drawn; none where there is none.
        human: The human baseline's score.
        comparison: `higher` or `lower`, whichever is better.
        worse: How many others have a worse score.
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
    """The placing by each set of references, in the order of the tables of current scores.

    There is none where not everybody may see the leaderboard, nor among fewer than three others, as a
    strip with one or two lines says less than their names on the leaderboard.
    """
    phase = submission.phase
    if phase is None or not phase.shows_leaderboard(now):
        return []
    found = (_placing(submission, phase, table) for table in tables)
    return [placing for placing in found if placing is not None]


def _own(table: ScoreTable) -> ScoreWithInterval | None:
    """The score of all images that the leaderboard is sorted by."""
    cells = next((row.cells for row in table.rows if row.name == table.split.sort_by), [])
    return cells[table.groups.index("")] if cells and "" in table.groups else None


def _others(submission: Submission, phase: Phase, table: ScoreTable) -> list[RankedSubmission]:
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
    # Its own team's row is this submission, or would be replaced by it.
    return [
        one for one in places(question) if one.score is not None and (one.baseline or one.entrant != team)
    ]


def _placing(submission: Submission, phase: Phase, table: ScoreTable) -> Placing | None:
    own = _own(table)
    if own is None or own.value is None:
        return None
    value, others = own.value, _others(submission, phase, table)
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
