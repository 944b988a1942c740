"""Results table of a submission: one row per score, columns per reference set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from capeval_server.submissions.selectors.scores import ScoreRow, ScoreTable, ScoreWithInterval

__all__ = ["ReferenceSetCells", "ResultNumber", "Results", "join_tables"]


@dataclass(frozen=True, kw_only=True)
class ReferenceSetCells:
    """Cells of a row for one reference set, or the reason why the metric failed."""

    cells: list[ScoreWithInterval | None]
    failure: str = ""

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.cells)


@dataclass(frozen=True, kw_only=True)
class ResultNumber:
    """A score by each reference set.

    Attributes:
        name: The name of the score, or of the metric if it failed.
        leads: Whether leaderboards sort by the score.
        parts: One part per reference set.
    """

    name: str
    leads: bool
    parts: list[ReferenceSetCells]


@dataclass(frozen=True, kw_only=True)
class Results:
    """Scores by several reference sets, side by side.

    Attributes:
        tables: The scores by each reference set.
        rows: One row for each score in any table.
    """

    tables: Sequence[ScoreTable]
    rows: list[ResultNumber]

    @property
    def grouped(self) -> bool:
        """Whether some columns are for subsets."""
        return any(table.groups != [""] for table in self.tables)


def join_tables(tables: Sequence[ScoreTable]) -> Results:
    """Join tables side by side, with all rows in the order of their first occurrence."""
    by_name = [{row.name: row for row in table.rows} for table in tables]
    names = list(dict.fromkeys(name for rows in by_name for name in rows))
    return Results(
        tables=tables,
        rows=[
            ResultNumber(
                name=name,
                leads=any(name == table.split.sort_by for table in tables),
                parts=[
                    _build_cells(table, rows.get(name)) for table, rows in zip(tables, by_name, strict=True)
                ],
            )
            for name in names
        ],
    )


def _build_cells(table: ScoreTable, row: ScoreRow | None) -> ReferenceSetCells:
    nothing: list[ScoreWithInterval | None] = [None] * len(table.groups)
    if row is None or row.failure:
        return ReferenceSetCells(cells=nothing, failure=row.failure if row else "")
    return ReferenceSetCells(cells=row.cells)
