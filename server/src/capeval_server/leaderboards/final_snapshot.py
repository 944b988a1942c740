"""Final results: snapshots of a phase's leaderboards.

A snapshot contains all rows, the p-values of neighbors, and the scores chosen for mean ranks. Later changes
(withdrawn or newly scored submissions, new references) do not affect it. A note in the row describes the
change.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

from capeval_server.leaderboards.columns import stored_columns
from capeval_server.leaderboards.entries import (
    Leaderboard,
    LeaderboardEntry,
    RankedSubmission,
    SubmissionStanding,
    new_entry,
    shown_scores,
)
from capeval_server.leaderboards.layouts import list_mean_rank_scores
from capeval_server.leaderboards.query import LeaderboardQuery
from capeval_server.leaderboards.significance import NeighborTest
from capeval_server.submissions.models import FinalBoard, Submission

__all__ = ["FinalRows", "pack", "stored"]

# Name and subset of a score, and the ids of two submissions in order.
_Pair = tuple[str, str, str, str]
# A stored row: values by column name, and `scores` with name, subset, value, low and high.
_Stored = dict[str, Any]


def _build_pair(name: str, subset: str, first: object, second: object) -> _Pair:
    low, high = sorted((str(first), str(second)))
    return name, subset, low, high


@dataclass(frozen=True)
class FinalRows:
    """Rows of final results by submission id, and tests of neighboring rows."""

    question: LeaderboardQuery
    rows: dict[str, _Stored]
    tests_of_pairs: dict[_Pair, NeighborTest]
    # The rows by the other reference sets with columns, by set and by `_get_row_key`.
    others: dict[str, dict[str, _Stored]]
    # The scores chosen for mean ranks; None without a choice.
    mean_rank_scores: list[str] | None = None

    @property
    def final(self) -> datetime | None:
        """Time at which the results became final."""
        return self.question.phase.final

    def places(self) -> list[RankedSubmission]:
        """Return all submissions with the score that ranks them."""
        name, subset = self.question.sort_by, self.question.subset
        return [
            RankedSubmission(
                key, None, not row["team"], row["team"] or "human", _get_value(row, name, subset), None
            )
            for key, row in self.rows.items()
        ]

    def values_of(self, name: str, places: Iterable[RankedSubmission]) -> list[float | None]:
        """Return a score on all images of some submissions."""
        return [_get_value(self.rows[place.key], name, "") for place in places]

    def tests(self, places: Sequence[RankedSubmission]) -> list[NeighborTest | None]:
        """Return the test of the difference of each submission to the next."""
        score = (self.question.sort_by, self.question.subset)
        pairs = (_build_pair(*score, first.key, second.key) for first, second in pairwise(places))
        return [*(self.tests_of_pairs.get(pair) for pair in pairs), None]

    def entries(self, standings: Sequence[SubmissionStanding], *, full: bool) -> Iterator[LeaderboardEntry]:
        """Yield the rows of some submissions, with notes of later changes."""
        columns = stored_columns()
        found = Submission.objects.only("state", "mark", "mark_reason", "finished")
        now = found.in_bulk([standing.place.submission for standing in standings])
        for standing in standings:
            row = self.rows[standing.place.key]
            facts = {column.name: column.from_json(row) for column in columns}
            by_set = {self.question.reference_set.name: row} | {
                name: rows[_get_row_key(row)]
                for name, rows in self.others.items()
                if _get_row_key(row) in rows
            }
            numbers = {
                (references, name, subset): ends
                for references, found_row in by_set.items()
                for name, subset, *ends in found_row["scores"]
            }
            failed = {
                (references, name) for references, found_row in by_set.items() for name in found_row["failed"]
            }
            yield new_entry(
                standing,
                facts,
                shown_scores(self.question.score_columns, failed, numbers, full=full),
                declared=self.question.phase.challenge.shown(row["declared"]),
                note=_describe_change(row["flag_reason"], now.get(standing.place.submission), self.final),
            )

    def rescoring(self) -> int:
        """Return 0, because final results never wait for scores."""
        return 0


def pack(board: Leaderboard, tests: Iterable[tuple[str, str, UUID, UUID, NeighborTest]]) -> bytes:
    """Return a leaderboard in its stored form.

    Args:
        board: The leaderboard with all rows, all digits, and each score of each subset (layout `both`).
        tests: Tuples of score name, subset, two submissions that are neighbors by the score, and their
            test.
    """
    columns = board.question.columns
    rows = [
        {
            "submission": row.submission,
            "team": "" if row.baseline else row.team,
            # Keys keep the order of earlier versions, so that exports of equal results are identical.
            "algorithm": row.algorithm,
            "declared": row.declared,
            **{column.name: column.value(row) for column in stored_columns()},
            "failed": list(dict.fromkeys(one.name for one in columns if one.label in row.failed)),
            "scores": [
                [one.name, one.subset, row.scores[one.label], *(row.intervals[one.label] or (None, None))]
                for one in columns
            ],
        }
        for row in board.rows
    ]
    p_values = [
        [*_build_pair(name, subset, first, second), *test] for name, subset, first, second, test in tests
    ]
    found: dict[str, Any] = {"rows": rows, "p_values": p_values}
    if scores := list_mean_rank_scores(board.question.split):
        found["mean_rank"] = scores
    content = json.dumps(found, ensure_ascii=False, default=_to_json)
    return zlib.compress(content.encode())


def _to_json(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def stored(question: LeaderboardQuery) -> FinalRows | None:
    """Return the final rows of a leaderboard, or None if it is not final."""
    if question.phase.final is None:
        return None
    versions = question.shown_versions
    boards = FinalBoard.objects.filter(phase=question.phase, version__in=versions)
    contents = {board.version_id: _unpack(board) for board in boards}
    content = contents.pop(question.version.pk, None)
    if content is None:
        return None
    others = {
        version.reference_set.name: {_get_row_key(row): row for row in contents[version.pk]["rows"]}
        for version in versions
        if version.pk in contents
    }
    until = question.as_of
    return FinalRows(
        question,
        {
            row["submission"]: row
            for row in content["rows"]
            if (until is None or datetime.fromisoformat(row["submitted"]) <= until)
            and (not row["team"] or question.selects(row["declared"]))
        },
        {
            # Earlier versions stored no method.
            (name, subset, low, high): NeighborTest(p_value, *(method or ["bootstrap"]))
            for name, subset, low, high, p_value, *method in content["p_values"]
        },
        others,
        content.get("mean_rank"),
    )


def _unpack(board: FinalBoard) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(zlib.decompress(bytes(board.content)))
    return content


def _get_value(row: _Stored, name: str, subset: str) -> float | None:
    return next((value for *column, value, _, _ in row["scores"] if column == [name, subset]), None)


def _get_row_key(row: _Stored) -> str:
    """Return the key of a row in all reference sets; each set has its own human baseline."""
    return str(row["submission"]) if row["team"] else ""


def _describe_change(flag_reason: str, now: Submission | None, final: datetime | None) -> str:
    if now is None:
        return "replaced by other captions later"
    if now.state == Submission.State.WITHDRAWN:
        return "withdrawn later by its team"
    if now.mark == Submission.Mark.HIDDEN:
        return f"hidden later by the organizers: {now.mark_reason}"
    if now.mark == Submission.Mark.FLAGGED and now.mark_reason != flag_reason:
        return f"flagged later by the organizers: {now.mark_reason}"
    if now.finished is None or (final is not None and now.finished > final):
        return "scored again later"
    return ""
