"""Tables and figure of attacks on metrics."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.studies.gaming import Gamed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ratio_map", "report"]

# The longest line of an attack's name in the figure, in characters.
_NAME_LINE = 24


def report(results: Sequence[Gamed]) -> StudyReport:
    """Return scores of honest captions and attacks, success rates, and examples.

    Args:
        results: The honest captions first, then each attack, as from `game`.
    """
    return StudyReport(
        tables={
            "gaming": _build_score_table(results),
            "gaming-better": _build_success_table(results),
            "gaming-examples": _build_example_table(results),
        },
        figures={"gaming": lambda: _plot_ratios(results)},
    )


def _build_score_table(results: Sequence[Gamed]) -> Grid:
    rows = tuple(
        (
            Cell(value=gamed.name),
            Cell(value="" if gamed.attack is None else gamed.attack.knows),
            *(Cell(value=score) for score in gamed.scores.values()),
        )
        for gamed in results
    )
    return Grid(columns=("Captions", "Knows", *results[0].scores), rows=rows)


def _build_success_table(results: Sequence[Gamed]) -> Grid:
    rows = tuple(
        (Cell(value=gamed.name), *(Cell(value=100 * part, digits=1) for part in gamed.better.values()))
        for gamed in results[1:]
    )
    return Grid(columns=("Above the honest caption (% of images)", *results[0].better), rows=rows)


def _build_example_table(results: Sequence[Gamed]) -> Grid:
    rows = tuple((Cell(value=gamed.name), Cell(value=gamed.example)) for gamed in results)
    return Grid(columns=("Captions", "Of the first image"), rows=rows)


def _plot_ratios(results: Sequence[Gamed]) -> Figure:
    honest = results[0].scores
    ratios = [
        [gamed.scores[name] / honest[name] if honest[name] else float("nan") for name in honest]
        for gamed in results[1:]
    ]
    return ratio_map(ratios, [gamed.name for gamed in results[1:]], list(honest))


def ratio_map(ratios: Sequence[Sequence[float]], attacks: Sequence[str], metrics: Sequence[str]) -> Figure:
    """Plot each score relative to honest captions: attacks by metrics.

    Args:
        ratios: The ratios, one row per attack. Above 1, the attack raises the score.
        attacks: The names of the rows.
        metrics: The names of the columns.
    """
    from capeval.report.figures import get_text_color, paper_figure, set_title

    values = np.asarray(ratios, dtype=np.float64)
    with paper_figure(0.9 + 0.25 * len(attacks)) as figure:
        panel = figure.subplots()
        cells = panel.imshow(values, cmap="PuOr_r", vmin=0, vmax=2, aspect="auto")
        panel.set_xticks(range(len(metrics)), metrics, rotation=45, ha="right", rotation_mode="anchor")
        panel.set_yticks(range(len(attacks)), [textwrap.fill(name, _NAME_LINE) for name in attacks])
        colors = cells.to_rgba(values)
        for (row, column), value in np.ndenumerate(values):
            color = get_text_color(colors[row, column])
            panel.text(column, row, _format_ratio(value), ha="center", va="center", color=color, fontsize=5.5)
        set_title(figure, "Score relative to honest captions")
        return figure


def _format_ratio(value: float) -> str:
    """Return a ratio in at most four characters; empty if the honest score is 0."""
    if math.isnan(value):
        return ""
    return f"{value:.{2 if value < 9.995 else 0}f}" if value < 99.5 else "> 99"
