"""What judging will take and show, as a table."""

from __future__ import annotations

from capeval.report.study_report import StudyReport
from capeval.report.tables import Cell, Grid
from capeval.studies.effort import Agreement, Forecast

__all__ = ["report"]


def report(forecast: Forecast, agreement: Agreement) -> StudyReport:
    """A row for each number."""
    percent = f"{100 * forecast.level:g} %"
    numbers = (
        ("answers expected", round(forecast.answers), 0),
        ("answers at most", forecast.most_answers, 0),
        ("hours of work", forecast.hours, 1),
        ("days", forecast.days, 1),
        ("cost", forecast.cost, 2),
        ("expected share in %", 100 * forecast.value, 1),
        (f"its {percent} interval, plus or minus", 100 * forecast.width, 1),
        ("smallest difference of two systems that is seen", 100 * forecast.difference, 1),
    )
    rows = tuple((Cell(value=name), Cell(value=value, digits=digits)) for name, value, digits in numbers)
    notes = (f"People say yes in {100 * agreement.yes:.1f} %; concentration {agreement.concentration:.2f}",)
    return StudyReport(tables={"effort": Grid(columns=("", "Forecast"), rows=rows, notes=notes)})
