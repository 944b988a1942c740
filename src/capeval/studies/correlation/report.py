"""Tables and figures of the correlation of metrics with ratings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.scoring.significance import format_p_value
from capeval.studies.correlation import Correlations, CorrelationStudy
from capeval.studies.shared.coefficients import COEFFICIENTS
from capeval.studies.shared.system_intervals import (
    FEWEST_SYSTEMS,
    build_interval_cell,
    list_interval_notes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from capeval.scoring.bootstrap import Interval
    from capeval.scoring.significance import Comparison

__all__ = [
    "TIES_NOTE",
    "build_coefficient_cells",
    "correlation_table",
    "difference_table",
    "dots",
    "report",
]

TIES_NOTE = (
    "Ties: tau-b divides by the pairs without ties, tau-c corrects for the number of different values, and"
    " Spearman gives equal values their mean rank. Accuracy: equal scores count half, and"
    " pairs with equal ratings are excluded."
)
"""Footnote on ties."""


def report(study: CorrelationStudy) -> StudyReport:
    """Return a table and a figure for each level, and differences if requested."""
    tables, figures = {}, {}
    for level, correlations in study.levels.items():
        tables[f"{level}-level"] = correlation_table(correlations)
        title = (
            f"Correlation with ratings, {level} level ({correlations.observations:,} observations;"
            f" intervals over {correlations.units})"
        )
        figures[f"{level}-level"] = partial(dots, correlations.values, title)
        if level in study.differences:
            tables[f"{level}-level-differences"] = difference_table(correlations, study.differences[level])
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
            *build_coefficient_cells(intervals, best if len(correlations.values) > 1 else {}),
            Cell(value=correlations.units),
        )
        for metric, intervals in correlations.values.items()
    )
    intervals = [each for row in correlations.values.values() for each in row.values()]
    return Grid(
        columns=("Metric", *COEFFICIENTS, "Intervals over"),
        rows=rows,
        notes=(*list_interval_notes(intervals), TIES_NOTE),
    )


def build_coefficient_cells(
    intervals: Mapping[str, Interval], best: Mapping[str, float] = MappingProxyType({})
) -> list[Cell]:
    """Return the cells of the coefficients of one metric."""
    return [
        replace(build_interval_cell(each), best=each.score == best.get(name), digits=4)
        for name, each in intervals.items()
    ]


def difference_table(
    correlations: Correlations, comparisons: Mapping[tuple[str, str], Mapping[str, Comparison]]
) -> Grid:
    """Return each difference with its interval and p-value.

    There is one row per pair of scores and coefficient.
    """
    rows = tuple(
        (
            Cell(value=a),
            Cell(value=b),
            Cell(value=coefficient),
            _build_difference_cell(each),
            Cell(value=each.p_value, digits=4, text="" if math.isnan(each.p_value) else format_p_value(each)),
            Cell(value=correlations.units),
        )
        for (a, b), by_coefficient in comparisons.items()
        for coefficient, each in by_coefficient.items()
    )
    first = next(each for by_coefficient in comparisons.values() for each in by_coefficient.values())
    drawn = f"({first.samples:,} samples, seed {first.seed})"
    units = f"{correlations.unit_count:,} {correlations.units}"
    note = (
        f"Intervals and p-values: paired bootstrap of the {units} {drawn}, corrected for the number of"
        f" {correlations.units} and not for the number of comparisons."
    )
    lacking = (
        (f"With fewer than {FEWEST_SYSTEMS} systems, there is no test.",) if math.isnan(first.p_value) else ()
    )
    return Grid(
        columns=("A", "B", "Coefficient", "A - B", "p-value", "Test over"),
        rows=rows,
        notes=(note, TIES_NOTE, *lacking),
    )


def _build_difference_cell(each: Comparison) -> Cell:
    ends = (None, None) if math.isnan(each.low) else (each.low, each.high)
    return Cell(value=each.difference, low=ends[0], high=ends[1], digits=4)


def dots(values: Mapping[str, Mapping[str, Interval]], title: str) -> Figure:
    """Plot coefficients with intervals: one panel per coefficient, one line per score.

    Args:
        values: The coefficients of each score, by name.
        title: The title of the figure.
    """
    from capeval.report.figures import plot_intervals

    panels = {
        name: {metric: (row[name].score, row[name].low, row[name].high) for metric, row in values.items()}
        for name in COEFFICIENTS
    }
    return plot_intervals(panels, title=title)
