"""Tables and figures of the correlation of metrics with ratings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.studies.correlation import Correlations, CorrelationStudy
from capeval.studies.shared.coefficients import COEFFICIENTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from capeval.scoring.significance import Comparison

__all__ = ["correlation_table", "difference_table", "dots", "report"]


def report(study: CorrelationStudy) -> StudyReport:
    """Return a table and a figure for each level, and differences if requested."""
    tables, figures = {}, {}
    for level, correlations in study.levels.items():
        tables[f"{level}-level"] = correlation_table(correlations)
        title = f"Correlation with ratings, {level} level ({correlations.observations:,} observations)"
        figures[f"{level}-level"] = partial(dots, correlations, title)
        if level in study.differences:
            tables[f"{level}-level-differences"] = difference_table(study.differences[level])
    return StudyReport(tables=tables, figures=figures)


def correlation_table(correlations: Correlations) -> Grid:
    """Return one row per score and one column per coefficient, with intervals.

    The best value of each coefficient is marked.
    """
    best = {
        name: max(intervals[name].score for intervals in correlations.values.values())
        for name in COEFFICIENTS
    }
    rows = tuple(
        (
            Cell(value=metric),
            *(
                Cell(
                    value=each.score,
                    low=each.low,
                    high=each.high,
                    best=len(correlations.values) > 1 and each.score == best[name],
                    digits=4,
                )
                for name, each in intervals.items()
            ),
        )
        for metric, intervals in correlations.values.items()
    )
    return Grid(columns=("Metric", *COEFFICIENTS), rows=rows)


def difference_table(comparisons: Mapping[tuple[str, str], Mapping[str, Comparison]]) -> Grid:
    """Return each difference with its interval and p-value.

    There is one row per pair of scores and coefficient.
    """
    rows = tuple(
        (
            Cell(value=a),
            Cell(value=b),
            Cell(value=coefficient),
            Cell(value=each.difference, low=each.low, high=each.high, digits=4),
            Cell(value=each.p_value, digits=4),
        )
        for (a, b), by_coefficient in comparisons.items()
        for coefficient, each in by_coefficient.items()
    )
    return Grid(columns=("A", "B", "Coefficient", "A - B", "p-value"), rows=rows)


def dots(correlations: Correlations, title: str) -> Figure:
    """Plot coefficients with intervals: one panel per coefficient, one line per score."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from capeval.report.figures import COLORS, STYLE

    metrics = list(correlations.values)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 1.2 + 0.3 * len(metrics)), layout="constrained")
        panels = figure.subplots(1, len(COEFFICIENTS), sharey=True)
        for panel, name in zip(panels, COEFFICIENTS, strict=True):
            for place, metric in enumerate(metrics):
                each = correlations.values[metric][name]
                color = COLORS[place % len(COLORS)]
                panel.plot((each.low, each.high), (place, place), color=color, linewidth=2)
                panel.plot(each.score, place, marker="o", color=color)
            panel.set_title(name, loc="left")
            panel.grid(axis="x", color="#dddddd", linewidth=0.6)
        panels[0].set_yticks(range(len(metrics)), metrics)
        panels[0].invert_yaxis()
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        return figure
