"""Tables of human judgments of systems."""

from __future__ import annotations

from collections.abc import Sequence

from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.studies.judging import HumanColumn, Standing

__all__ = ["build_column_table", "report"]


def report(columns: Sequence[HumanColumn], standings: Sequence[Standing] = ()) -> StudyReport:
    """Return a table for each question, and the points if both M1 and M2 are given."""
    tables = {column.question.name: build_column_table(column) for column in columns}
    if standings:
        tables["points"] = _build_points_table(standings)
    return StudyReport(tables=tables)


def build_column_table(column: HumanColumn) -> Grid:
    """Return one row per system, best first, with a test against the next system."""
    answers = tuple(column.question.answers.values())
    p_values = {each.system: each.p_value for each in column.differences()}
    rows = []
    for name, row in column.rows.items():
        value = Cell(value=row.interval.score, low=row.interval.low, high=row.interval.high)
        rows.append(
            (
                Cell(value=name),
                value,
                *(Cell(value=row.shares[answer]) for answer in answers),
                Cell(value=row.images),
                Cell(value=row.votes),
                Cell(value=row.alpha),
                Cell(value=p_values.get(name)),
            )
        )
    shares = (f"Answers: {answer}" for answer in answers)
    heading = ("System", column.question.name, *shares, "Images", "Votes", "Alpha", "p-value (vs. next)")
    return Grid(
        columns=heading, rows=tuple(rows), notes=(f"{column.question.name}: {column.question.measures}",)
    )


def _build_points_table(standings: Sequence[Standing]) -> Grid:
    rows = tuple(
        tuple(
            Cell(value=value)
            for value in (each.place, each.system, each.points["M1"], each.points["M2"], each.total)
        )
        for each in standings
    )
    return Grid(columns=("Place", "System", "M1", "M2", "Points"), rows=rows)
