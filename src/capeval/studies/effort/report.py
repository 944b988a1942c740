"""Table and figure of a forecast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.studies.effort import Agreement, Forecast

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["report"]


def report(forecast: Forecast, agreement: Agreement) -> StudyReport:
    """Return one row per number of a forecast, and a figure."""
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
    return StudyReport(
        tables={"effort": Grid(columns=("Quantity", "Forecast"), rows=rows, notes=notes)},
        figures={"effort": lambda: _plot_precision(forecast)},
    )


def _plot_precision(forecast: Forecast) -> Figure:
    """Plot the interval and the smallest detectable difference by the number of images.

    Both are proportional to one over the square root of the number of images.
    """
    from capeval.report.figures import get_color, paper_figure, set_title

    images = forecast.images * np.linspace(0.1, 2, 96)
    lines = (
        (f"{100 * forecast.level:g}% interval (+/-)", forecast.width),
        ("smallest difference", forecast.difference),
    )
    with paper_figure(2.4) as figure:
        panel = figure.subplots()
        for place, (label, value) in enumerate(lines):
            color = get_color(place)
            panel.plot(images, 100 * value * np.sqrt(forecast.images / images), color=color, label=label)
            panel.plot(forecast.images, 100 * value, marker="o", color=color)
        panel.set(
            xlabel="Images or pairs per system", ylabel="Points of a share", xlim=(0, None), ylim=(0, None)
        )
        if forecast.cost > 0:
            of_image = forecast.cost / forecast.images
            costs = panel.secondary_xaxis(
                "top", functions=(lambda x: np.multiply(x, of_image), lambda x: np.divide(x, of_image))
            )
            costs.set_xlabel("Cost")
        panel.legend(frameon=False)
        set_title(figure, "Precision by number of images (dots: this forecast)")
        return figure
