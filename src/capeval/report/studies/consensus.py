"""The figure of how often each system wins (CIDEr paper, Figure 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from capeval.report.figures import COLOURS, STYLE

__all__ = ["win_bars"]


def win_bars(wins: Mapping[str, Sequence[float]], systems: Sequence[str]) -> Figure:
    """Bars of the fraction of wins: a group for each system, a bar for who or what chose.

    Args:
        wins: The fraction of wins of each system, by who or what chose.
        systems: The names of the systems.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        panel = figure.subplots()
        places, width = np.arange(len(systems)), 0.8 / len(wins)
        for turn, (name, values) in enumerate(wins.items()):
            offset = (turn - (len(wins) - 1) / 2) * width
            colour = COLOURS[turn % len(COLOURS)]
            # The ninth has the first one's colour, but not its hatching.
            hatch = "//" if turn >= len(COLOURS) else None
            panel.bar(places + offset, values, width, color=colour, label=name, hatch=hatch)
        panel.axhline(0.5, color="#888888", linewidth=0.8, linestyle=":")
        panel.set_xticks(places, systems)
        panel.set_ylabel("Fraction of wins")
        panel.set_title("How often each system wins against the others", loc="left")
        panel.legend(frameon=False, ncols=3)
        return figure
