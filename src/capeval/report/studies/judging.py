"""What people think of systems, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from capeval.report.grids import Cell, Grid
from capeval.report.studies import StudyReport
from capeval.studies.judging import HumanColumn, Standing

__all__ = ["report"]


def report(columns: Sequence[HumanColumn], standings: Sequence[Standing] = ()) -> StudyReport:
    """A table of each question, and the points of M1 and M2 where there are both."""
    tables = {column.question.name: _column(column) for column in columns}
    if standings:
        tables["points"] = _points(standings)
    return StudyReport(tables=tables)


def _column(column: HumanColumn) -> Grid:
    """A row for each system, the best first, tested against the next."""
    names = list(column.rows)
    answers = tuple(column.question.answers.values())
    rows = []
    for name, following in zip(names, [*names[1:], None], strict=True):
        row = column.rows[name]
        p_value = None if following is None else column.compare(name, following).p_value
        value = Cell(value=row.interval.score, low=row.interval.low, high=row.interval.high)
        rows.append(
            (
                Cell(value=name),
                value,
                *(Cell(value=row.shares[answer]) for answer in answers),
                Cell(value=row.images),
                Cell(value=row.votes),
                Cell(value=row.alpha),
                Cell(value=p_value),
            )
        )
    shares = (f"Answers: {answer}" for answer in answers)
    heading = ("System", column.question.name, *shares, "Images", "Votes", "Alpha", "p, this and the next")
    return Grid(
        columns=heading, rows=tuple(rows), notes=(f"{column.question.name}: {column.question.measures}",)
    )


def _points(standings: Sequence[Standing]) -> Grid:
    rows = tuple(
        tuple(
            Cell(value=value)
            for value in (each.place, each.system, each.points["M1"], each.points["M2"], each.total)
        )
        for each in standings
    )
    return Grid(columns=("Place", "System", "M1", "M2", "Points"), rows=rows)
