"""Tables and figure of human judgments of systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid, create_score_cell
from capeval.scoring.significance import format_p_value
from capeval.studies.judging import HumanColumn, Standing
from capeval.studies.shared.agreement import Alpha

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["build_column_table", "column_dots", "create_alpha_cell", "report"]


def report(columns: Sequence[HumanColumn], standings: Sequence[Standing] = ()) -> StudyReport:
    """Return a table for each question, a figure, and the points if both M1 and M2 are given."""
    tables = {column.question.name: build_column_table(column) for column in columns}
    if standings:
        tables["points"] = _build_points_table(standings)
    return StudyReport(tables=tables, figures={"systems": lambda: column_dots(columns)})


def column_dots(columns: Sequence[HumanColumn]) -> Figure:
    """Plot the value of each system with its interval, one panel per question."""
    from capeval.report.figures import plot_intervals

    panels = {
        column.question.name: {
            name: (row.interval.score, row.interval.low, row.interval.high)
            for name, row in column.rows.items()
        }
        for column in columns
    }
    level = next(row.interval.level for column in columns for row in column.rows.values())
    return plot_intervals(
        panels, title=f"Human judgments of systems, with {100 * level:g}% intervals over images"
    )


def build_column_table(column: HumanColumn) -> Grid:
    """Return one row per system, best first, with a test against the next system."""
    answers = tuple(column.question.answers.values())
    tests = {
        name: Cell(value=each.p_value, digits=4, text=format_p_value(each))
        for name, each in column.compare_neighbors().items()
    }
    rows = []
    for name, row in column.rows.items():
        rows.append(
            (
                Cell(value=name),
                create_score_cell(row.interval.score, row.interval),
                *(Cell(value=row.shares[answer]) for answer in answers),
                Cell(value=row.images),
                Cell(value=row.votes),
                create_alpha_cell(row.alpha),
                tests.get(name, Cell(value=None)),
            )
        )
    shares = (f"Answers: {answer}" for answer in answers)
    alpha = f"Alpha ({column.question.alpha_scale})"
    heading = ("System", column.question.name, *shares, "Images", "Votes", alpha, "p-value (vs. next)")
    return Grid(columns=heading, rows=tuple(rows), notes=column.notes)


def create_alpha_cell(alpha: Alpha | None) -> Cell:
    """Return the cell of an alpha with its interval; empty if it is undefined."""
    return Cell(value=None) if alpha is None else create_score_cell(alpha.value, alpha.interval)


def _build_points_table(standings: Sequence[Standing]) -> Grid:
    rows = tuple(
        tuple(
            Cell(value=value)
            for value in (each.place, each.system, each.points["M1"], each.points["M2"], each.total)
        )
        for each in standings
    )
    return Grid(columns=("Place", "System", "M1", "M2", "Points"), rows=rows)
