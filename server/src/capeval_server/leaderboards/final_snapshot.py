"""Final results: the leaderboards of a phase as they were when an organiser made them final.

They are stored whole, as rows and as p-values of neighbours, so that nothing that happens later changes
them: not what teams withdraw, what is scored again, or what new references give. What happened is a note
beside a row.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from capeval_server.leaderboards.query import LeaderboardQuery
from capeval_server.submissions.models import FinalBoard, Submission

__all__ = ["FinalRow", "FinalRows", "notes", "pack", "stored"]

# What pairs a score with the next of another submission: the column, and both submissions in one order.
_Pair = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class FinalRow:
    """A submission as it was then.

    Attributes:
        submission: Its id.
        team: The name of its team; empty for a human baseline.
        algorithm: The name of the method.
        declared: What was shown of what was declared.
        submitted: When.
        flag_reason: Why an organiser had flagged it.
        failed: The scores that could not be computed, as names.
        scores: Value and interval by name and subset, in full.
    """

    submission: UUID
    team: str
    algorithm: str
    declared: dict[str, str]
    submitted: datetime
    flag_reason: str
    failed: list[str]
    scores: dict[tuple[str, str], tuple[float | None, float | None, float | None]]


@dataclass(frozen=True)
class FinalRows:
    """All rows of a final leaderboard, and the p-values of those that were neighbours."""

    rows: list[FinalRow]
    p_values: dict[_Pair, float]

    def p_value(self, name: str, subset: str, first: UUID, second: UUID) -> float | None:
        """The p-value of the difference of two submissions that were neighbours by a score."""
        return self.p_values.get(_pair(name, subset, first, second))


def _pair(name: str, subset: str, first: UUID, second: UUID) -> _Pair:
    low, high = sorted((str(first), str(second)))
    return name, subset, low, high


def pack(rows: Iterable[FinalRow], tests: Iterable[tuple[str, str, UUID, UUID, float]]) -> bytes:
    """Rows and p-values of neighbours, to be stored.

    Args:
        rows: The rows.
        tests: Of neighbours the name and the subset of the score, both submissions and the p-value.
    """
    content = {
        "rows": [
            {
                **row.__dict__,
                "submission": str(row.submission),
                "submitted": row.submitted.isoformat(),
                "scores": [[*key, *numbers] for key, numbers in row.scores.items()],
            }
            for row in rows
        ],
        "p_values": [
            [*_pair(name, subset, first, second), value] for name, subset, first, second, value in tests
        ],
    }
    return zlib.compress(json.dumps(content, ensure_ascii=False).encode())


def stored(question: LeaderboardQuery) -> FinalRows | None:
    """The final rows that a question is about; none if its leaderboard is not final."""
    if question.phase.final is None:
        return None
    board = FinalBoard.objects.filter(phase=question.phase, version=question.version).first()
    if board is None:
        return None
    content: dict[str, Any] = json.loads(zlib.decompress(bytes(board.content)))
    rows = [_row(found) for found in content["rows"]]
    until = question.as_of
    return FinalRows(
        [row for row in rows if until is None or row.submitted <= until],
        {(name, subset, low, high): value for name, subset, low, high, value in content["p_values"]},
    )


def _row(found: dict[str, Any]) -> FinalRow:
    scores = {(name, subset): (value, low, high) for name, subset, value, low, high in found["scores"]}
    submitted = datetime.fromisoformat(found["submitted"])
    return FinalRow(
        **{**found, "submission": UUID(found["submission"]), "submitted": submitted, "scores": scores}
    )


def notes(question: LeaderboardQuery, rows: Sequence[FinalRow]) -> dict[UUID, str]:
    """What happened to submissions after the results became final, in words."""
    found = Submission.objects.only("state", "mark", "mark_reason", "finished")
    now = found.in_bulk([row.submission for row in rows])
    return {row.submission: _note(row, now.get(row.submission), question.phase.final) for row in rows}


def _note(row: FinalRow, now: Submission | None, final: datetime | None) -> str:
    if now is None:
        return "replaced by other captions later"
    if now.state == Submission.State.WITHDRAWN:
        return "withdrawn later by its team"
    if now.mark == Submission.Mark.HIDDEN:
        return f"hidden later by the organisers: {now.mark_reason}"
    if now.mark == Submission.Mark.FLAGGED and now.mark_reason != row.flag_reason:
        return f"flagged later by the organisers: {now.mark_reason}"
    if now.finished is None or (final is not None and now.finished > final):
        return "scored again later"
    return ""
