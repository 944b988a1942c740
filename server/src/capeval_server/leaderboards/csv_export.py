"""Leaderboards as CSV."""

from __future__ import annotations

import csv
import io

from capeval.toolkit import plain_row
from capeval_server.leaderboards.ranking import Leaderboard, LeaderboardEntry
from capeval_server.leaderboards.reported_entries import ReportedEntry

__all__ = ["to_csv"]

_REPORTED = ["reported in", "at"]
_ABOUT = ["rank", "team", "algorithm", "submitted", "submission", "human baseline", "flagged because"]
_NOTE = "changed since the results became final"


def to_csv(board: Leaderboard) -> str:
    """A leaderboard as CSV: numbers in full, and no text that a spreadsheet would run as a formula.

    What was reported elsewhere comes last, and says where.
    """
    fields = board.question.phase.challenge.fields
    declared = [field["name"] for field in fields if field.get("shown", True)]
    noted = [_NOTE] if board.final else []
    out = io.StringIO()
    writer = csv.writer(out)
    scores = [text for name in board.columns for text in (name, f"{name} low", f"{name} high")]
    header = (*_ABOUT, *noted, *declared, *scores, "p of no difference to the next row", *_REPORTED)
    writer.writerow(plain_row(header))
    for row in board.rows:
        texts = [str(row.declared.get(name, "")) for name in declared]
        numbers = _numbers(row, board.columns)
        cells = (*_about(row), *_noted(board, row), *texts, *numbers, _number(row.p_value), "", "")
        writer.writerow(plain_row(cells))
    for entry in board.reported:
        writer.writerow(plain_row(_reported(entry, board.columns, len(noted) + len(declared))))
    return out.getvalue()


def _reported(entry: ReportedEntry, columns: list[str], between: int) -> list[str]:
    about = [str(entry.rank or ""), entry.team, entry.method, entry.date, "", "no", ""]
    scores = [text for name in columns for text in (_number(entry.scores[name]), "", "")]
    return [*about, *[""] * between, *scores, "", entry.source, entry.source_url]


def _noted(board: Leaderboard, row: LeaderboardEntry) -> list[str]:
    return [row.note] if board.final else []


def _about(row: LeaderboardEntry) -> list[str]:
    return [
        str(row.rank or ""),
        row.team,
        row.algorithm,
        row.submitted.isoformat(),
        str(row.submission),
        "yes" if row.baseline else "no",
        row.flag_reason,
    ]


def _numbers(row: LeaderboardEntry, columns: list[str]) -> list[str]:
    numbers = []
    for name in columns:
        low, high = row.intervals[name] or (None, None)
        numbers += [_number(row.scores[name]), _number(low), _number(high)]
    return numbers


def _number(value: float | None) -> str:
    return "" if value is None else repr(value)
