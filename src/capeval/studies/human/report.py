"""Tables and figure of human performance, by number of references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.studies.human import HumanPerformance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["human_curves", "report"]


def report(results: Sequence[HumanPerformance], published: Mapping[str, float] | None = None) -> StudyReport:
    """Return the mean and spread of each score, each draw, and a figure.

    The figure has curves if there are several numbers of references.

    Args:
        results: The scores for each number of references.
        published: The published human scores with five references, by name.
    """
    published = published or {}
    several = sum(result.references is not None for result in results) > 1
    return StudyReport(
        tables={
            "human-performance": _build_means_table(results, published),
            "draws": _build_draws_table(results),
        },
        figures={"human-performance": lambda: (human_curves if several else _plot_draws)(results, published)},
    )


def _get_label(result: HumanPerformance) -> str:
    return "all others" if result.references is None else f"c{result.references}"


def _build_means_table(results: Sequence[HumanPerformance], published: Mapping[str, float]) -> Grid:
    rows = []
    for result in results:
        for name, values, digits in (("mean", result.mean, 3), ("spread", result.spread, 4)):
            # The spread of a single draw is NaN.
            cells = (Cell(value=None if np.isnan(v) else float(v), digits=digits) for v in values)
            rows.append((Cell(value=_get_label(result)), Cell(value=name), *cells))
    if published:
        cells = (Cell(value=published.get(name)) for name in results[0].names)
        rows.append((Cell(value="c5"), Cell(value="paper, test set"), *cells))
    return Grid(columns=("References", "", *results[0].names), rows=tuple(rows))


def _build_draws_table(results: Sequence[HumanPerformance]) -> Grid:
    rows = tuple(
        (
            Cell(value=_get_label(result)),
            Cell(value=number),
            *(Cell(value=value, digits=4) for value in row.tolist()),
        )
        for result in results
        for number, row in enumerate(result.draws, start=1)
    )
    return Grid(columns=("References", "Draw", *results[0].names), rows=rows)


def _plot_draws(results: Sequence[HumanPerformance], published: Mapping[str, float]) -> Figure:
    """Plot the mean of each score, with its lowest and highest draw, one panel per result."""
    from capeval.report.figures import plot_intervals

    panels = {
        _get_label(result): {
            name: (float(result.mean[column]), float(draws.min()), float(draws.max()))
            for column, (name, draws) in enumerate(zip(result.names, result.draws.T, strict=True))
        }
        for result in results
    }
    if published:
        panels["c5, paper"] = {
            name: (published.get(name, np.nan), np.nan, np.nan) for name in results[0].names
        }
    return plot_intervals(panels, title="Human performance (lines: lowest to highest draw)")


def human_curves(results: Sequence[HumanPerformance], published: Mapping[str, float]) -> Figure:
    """Plot each score by number of references, with its lowest and highest draw.

    Args:
        results: The scores for each number of references; results against all other captions are not plotted.
        published: The published human scores with five references, by name, as crosses.
    """
    from matplotlib.ticker import MaxNLocator

    from capeval.report.figures import get_color, paper_figure

    counted = [result for result in results if result.references is not None]
    x = [result.references or 0 for result in counted]
    with paper_figure(2.4) as figure:
        panel = figure.subplots()
        for column, name in enumerate(results[0].names):
            color = get_color(column)
            y = [result.mean[column] for result in counted]
            low, high = ([end(result.draws[:, column]) for result in counted] for end in (np.min, np.max))
            panel.plot(x, y, marker=".", color=color, label=name)
            panel.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)
            if name in published:
                panel.plot([5], [published[name]], marker="x", color=color)
        title = "Human performance" + (" (crosses: published, c5)" if published else "")
        panel.set_title(title, loc="left")
        panel.set(xlabel="References per image", ylabel="Corpus score")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.legend(frameon=False, loc="outside right center")
        return figure
