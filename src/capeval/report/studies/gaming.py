"""The figure of what attacks do to metrics."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from capeval.report.figures import STYLE

__all__ = ["ratio_map"]


def ratio_map(ratios: Sequence[Sequence[float]], attacks: Sequence[str], metrics: Sequence[str]) -> Figure:
    """A score over that of honest captions, for each attack (row) and metric (column).

    Args:
        ratios: The ratios, a row an attack. Above 1 the attack pays.
        attacks: The names of the rows.
        metrics: The names of the columns.
    """
    values = np.asarray(ratios, dtype=np.float64)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.8 + 0.7 * len(metrics), 0.9 + 0.32 * len(attacks)), layout="constrained")
        panel = figure.subplots()
        panel.imshow(values, cmap="PuOr_r", vmin=0, vmax=2, aspect="auto")
        panel.set_xticks(range(len(metrics)), metrics)
        panel.set_yticks(range(len(attacks)), attacks)
        for (row, column), value in np.ndenumerate(values):
            colour = "white" if abs(value - 1) > 0.75 else "black"
            panel.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8)
        panel.set_title("Score of gamed captions over that of honest ones", loc="left")
        return figure
