"""CSV export of leaderboards."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import astuple, fields

from capeval.toolkit import escape_row
from capeval_server.leaderboards.columns import COLUMNS
from capeval_server.leaderboards.entries import Interval, Leaderboard, LeaderboardEntry
from capeval_server.leaderboards.judgments import JudgmentDetails

__all__ = ["to_csv"]

# Columns of each human judgment, after its interval.
_DETAILS = tuple(field.name for field in fields(JudgmentDetails))


def to_csv(board: Leaderboard) -> str:
    """Return a leaderboard as CSV, with full precision and escaped formulas.

    Externally reported scores come last, with their source.
    """
    declared = board.question.phase.challenge.shown_fields
    columns = [column for column in COLUMNS.values() if board.final or not column.final_only]
    judged = [source.column for source in board.judgments]
    reported_only = board.reported_only
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(
        escape_row(
            (
                *(column.title for column in columns),
                *declared,
                *(text for name in board.columns for text in (name, f"{name} low", f"{name} high")),
                *(f"{name} {detail}" for name in judged for detail in _DETAILS),
                *reported_only,
                "p of no difference to the next row",
                "test",
                "reported in",
                "at",
            )
        )
    )
    for row in board.rows:
        about = [column.csv(column.value(row)) for column in columns]
        texts = [str(row.declared.get(name, "")) for name in declared]
        numbers = _list_numbers(board.columns, row.scores, row.intervals)
        details = [number for name in judged for number in _list_details(row, name)]
        end = (*[""] * len(reported_only), row.p_value, row.test or "", "", "")
        writer.writerow(escape_row((*about, *texts, *numbers, *details, *end)))
    for entry in board.reported:
        about = [column.reported(entry) for column in columns]
        numbers = _list_numbers(board.columns, entry.scores, {})
        own = [entry.scores[name] for name in reported_only]
        end = (*[""] * len(judged) * len(_DETAILS), *own, "", "", entry.source, entry.source_url)
        texts = [entry.declared.get(name, "") for name in declared]
        writer.writerow(escape_row((*about, *texts, *numbers, *end)))
    return out.getvalue()


def _list_details(row: LeaderboardEntry, name: str) -> tuple[float | None, ...]:
    found = row.judgments.get(name)
    return (None,) * len(_DETAILS) if found is None else astuple(found)


def _list_numbers(
    columns: list[str], scores: Mapping[str, float | None], intervals: Mapping[str, Interval | None]
) -> list[float | None]:
    return [value for name in columns for value in (scores[name], *(intervals.get(name) or (None, None)))]
