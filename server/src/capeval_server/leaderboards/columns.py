"""Registry of leaderboard columns other than scores.

A registered column is shown on the page, in the CSV, in the API with its schema, and in final results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter

from capeval_server.leaderboards.entries import LeaderboardEntry
from capeval_server.leaderboards.reported_entries import ReportedEntry
from capeval_server.submissions.models import Submission

__all__ = ["COLUMNS", "EntryColumn", "register", "stored_columns"]


def _text(value: Any) -> str:
    return "" if value is None else str(value)


@dataclass(frozen=True, kw_only=True)
class EntryColumn:
    """Column of every leaderboard that does not show a score.

    A column with `lookups` is read from submissions and stored in final results. It does not need a field in
    `LeaderboardEntry`. Other columns show the field of `LeaderboardEntry` with the same name.

    Attributes:
        name: Name in the API and in stored final results.
        title: Heading in the CSV.
        kind: Type of the values.
        description: Description of the values in the API.
        lookups: Fields of a submission, such as `team__created`, which are the arguments of `read`.
        read: Returns the value.
        default: Value for final results that were stored before the column existed.
        csv: Formats a value for the CSV.
        page: Formats a value for the page; None if the page does not show it.
        heading: Heading of its own column on the page; empty if another cell contains the value.
        reported: Formats the value of externally reported scores for the CSV.
        final_only: Whether only the CSV of final results contains it.
    """

    name: str
    title: str
    kind: Any = str
    description: str = ""
    lookups: tuple[str, ...] = ()
    read: Callable[..., Any] = lambda value: value
    default: Any = None
    csv: Callable[[Any], str] = _text
    page: Callable[[Any], str] | None = _text
    heading: str = ""
    reported: Callable[[ReportedEntry], str] = lambda _: ""
    final_only: bool = False

    def value(self, row: LeaderboardEntry) -> Any:
        """Return the value of a row."""
        return row.extra[self.name] if self.name in row.extra else getattr(row, self.name)

    @cached_property
    def _type(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.kind)

    def from_json(self, row: Mapping[str, Any]) -> Any:
        """Return the value in a stored row of final results."""
        return self._type.validate_python(row[self.name]) if self.name in row else self.default

    def json_schema(self) -> dict[str, Any]:
        """Return the description of the values for the API."""
        return {"title": self.title.capitalize(), "description": self.description, **self._type.json_schema()}


_columns: dict[str, EntryColumn] = {}

COLUMNS: Mapping[str, EntryColumn] = MappingProxyType(_columns)
"""The registered columns by name, in the order of the CSV."""


def register(column: EntryColumn) -> EntryColumn:
    """Add a column to all leaderboards.

    Raises:
        ValueError: The name is already registered.
    """
    if column.name in _columns:
        raise ValueError(f"a column with the name {column.name!r} is already registered")
    _columns[column.name] = column
    return column


def stored_columns() -> list[EntryColumn]:
    """Return the columns that are read from submissions."""
    return [column for column in COLUMNS.values() if column.lookups]


def _flag_reason(mark: str, reason: str) -> str:
    return reason if mark == Submission.Mark.FLAGGED else ""


register(EntryColumn(name="rank", title="rank", reported=lambda entry: _text(entry.rank)))
register(EntryColumn(name="team", title="team", reported=lambda entry: entry.team))
register(
    EntryColumn(
        name="algorithm", title="algorithm", lookups=("algorithm",), reported=lambda entry: entry.method
    )
)
register(
    EntryColumn(
        name="submitted",
        title="submitted",
        kind=datetime,
        lookups=("created",),
        csv=lambda time: time.isoformat(),
        page=None,
        reported=lambda entry: entry.date,
    )
)
register(EntryColumn(name="submission", title="submission"))
register(
    EntryColumn(
        name="baseline",
        title="human baseline",
        csv=lambda baseline: "yes" if baseline else "no",
        page=lambda baseline: "baseline" if baseline else "",
        reported=lambda _: "no",
    )
)
register(
    EntryColumn(
        name="flag_reason", title="flagged because", lookups=("mark", "mark_reason"), read=_flag_reason
    )
)
register(EntryColumn(name="note", title="changed since the results became final", final_only=True))
