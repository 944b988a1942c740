"""Table of a forecast."""

from __future__ import annotations

from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.studies.effort import Agreement, Forecast

__all__ = ["report"]


def report(forecast: Forecast, agreement: Agreement) -> StudyReport:
    """Return one row per number of a forecast."""
    percent = f"{100 * forecast.level:g} %"
    numbers = (
        ("expected answers", round(forecast.answers), 0),
        ("maximum answers", forecast.most_answers, 0),
        ("hours of work", forecast.hours, 1),
        ("days", forecast.days, 1),
        ("cost", forecast.cost, 2),
        ("expected share (%)", 100 * forecast.value, 1),
        (f"{percent} interval of the share (+/-)", 100 * forecast.width, 1),
        ("smallest detectable difference (points)", 100 * forecast.difference, 1),
    )
    rows = tuple((Cell(value=name), Cell(value=value, digits=digits)) for name, value, digits in numbers)
    notes = (
        f"Assumed: {100 * agreement.yes:.1f} % yes answers, concentration {agreement.concentration:.2f}",
    )
    return StudyReport(tables={"effort": Grid(columns=("Quantity", "Forecast"), rows=rows, notes=notes)})
