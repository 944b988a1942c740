"""Tables and figures of the correlation of corpus scores with human judgments of systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.studies.correlation.report import TIES_NOTE, build_coefficient_cells, dots
from capeval.studies.correlation.systems import SystemCorrelation
from capeval.studies.shared.coefficients import COEFFICIENTS
from capeval.studies.shared.system_intervals import list_interval_notes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["report"]


def report(correlations: Sequence[SystemCorrelation]) -> StudyReport:
    """Return one row per question, release and metric, and a figure per question and release."""
    rows = tuple(
        (
            Cell(value=each.question),
            Cell(value=each.release),
            Cell(value=len(each.systems)),
            Cell(value=metric),
            *([Cell(value=None)] * len(COEFFICIENTS) if values is None else build_coefficient_cells(values)),
            Cell(value="systems"),
        )
        for each in correlations
        for metric, values in each.coefficients.items()
    )
    missing = dict.fromkeys(name for each in correlations for name in each.without_scores)
    without_scores = (f"Not scored, without captions: {', '.join(missing)}",) if missing else ()
    intervals = [
        interval
        for each in correlations
        for values in each.coefficients.values()
        for interval in (values or {}).values()
    ]
    notes = (*list_interval_notes(intervals), TIES_NOTE, *without_scores)
    columns = ("Question", "Release", "Systems", "Metric", *COEFFICIENTS, "Intervals over")
    table = Grid(columns=columns, rows=rows, notes=notes)
    return StudyReport(tables={"system-level": table}, figures=_list_figures(correlations))


def _list_figures(correlations: Sequence[SystemCorrelation]) -> dict[str, Callable[[], Figure]]:
    figures: dict[str, Callable[[], Figure]] = {}
    for number, each in enumerate(correlations, start=1):
        values = {metric: row for metric, row in each.coefficients.items() if row is not None}
        if values:
            release = f", release {each.release}" if each.release else ""
            title = f"Correlation with {each.question}{release} ({len(each.systems)} systems)"
            # Names of releases are free text, which may be invalid in file names.
            figures[f"system-level-{number}"] = partial(dots, values, title)
    return figures
