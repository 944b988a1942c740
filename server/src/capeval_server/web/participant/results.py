"""The scores of a submission as one table: a row for each score, columns for each set of references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from capeval_server.submissions.selectors.scores import ScoreRow, ScoreTable, ScoreWithInterval

__all__ = ["ReferenceSetCells", "ResultRow", "Results", "joined"]


@dataclass(frozen=True, kw_only=True)
class ReferenceSetCells:
    """What a row has from one set of references: cells, or why its metric gave no scores."""

    cells: list[ScoreWithInterval | None]
    failure: str = ""

    @property
    def width(self) -> int:
        """How many columns it takes."""
        return len(self.cells)


@dataclass(frozen=True, kw_only=True)
class ResultRow:
    """A score by each set of references.

    Attributes:
        name: The score's name, or the metric's where it failed.
        leads: Whether leaderboards sort by it.
        parts: One for each set of references.
    """

    name: str
    leads: bool
    parts: list[ReferenceSetCells]


@dataclass(frozen=True, kw_only=True)
class Results:
    """The columns of some sets of references, side by side.

    Attributes:
        tables: The scores by each set.
        rows: A row for each score that one of them has.
    """

    tables: Sequence[ScoreTable]
    rows: list[ResultRow]

    @property
    def grouped(self) -> bool:
        """Whether some columns are of subsets."""
        return any(table.groups != [""] for table in self.tables)


def joined(tables: Sequence[ScoreTable]) -> Results:
    """The tables side by side, with the rows of all of them in the order in which they first come."""
    by_name = [{row.name: row for row in table.rows} for table in tables]
    names = list(dict.fromkeys(name for rows in by_name for name in rows))
    return Results(
        tables=tables,
        rows=[
            ResultRow(
                name=name,
                leads=any(name == table.split.sort_by for table in tables),
                parts=[_part(table, rows.get(name)) for table, rows in zip(tables, by_name, strict=True)],
            )
            for name in names
        ],
    )


def _part(table: ScoreTable, row: ScoreRow | None) -> ReferenceSetCells:
    nothing: list[ScoreWithInterval | None] = [None] * len(table.groups)
    if row is None or row.failure:
        return ReferenceSetCells(cells=nothing, failure=row.failure if row else "")
    return ReferenceSetCells(cells=row.cells)
