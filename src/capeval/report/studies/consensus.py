"""Figures of accuracy over references and of wins (CIDEr paper, Figures 3 and 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from capeval.report.figures import COLOURS, STYLE
from capeval.studies.consensus import Drawn

__all__ = ["accuracy_curves", "win_bars"]


def accuracy_curves(curves: Mapping[str, Mapping[str, Sequence[Drawn]]], counts: Sequence[int]) -> Figure:
    """A panel for each class of pairs and for all, a curve for each metric.

    Bands are the intervals over pairs, bars the lowest and highest draw of the references.

    Args:
        curves: Class to metric to the accuracy for each of `counts`.
        counts: The numbers of references.
    """
    with mpl.rc_context(STYLE):
        # One place more than panels, for the legend.
        columns = math.ceil(math.sqrt(len(curves) + 1))
        rows = math.ceil((len(curves) + 1) / columns)
        figure = Figure(figsize=(3.1 * columns, 2.9 * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, (kind, metrics) in zip(panels, curves.items(), strict=False):
            pairs = next(iter(metrics.values()))[0].pairs
            _draw_curves(panel, metrics, counts)
            panel.set_title(f"{'All' if kind == 'all' else kind} ({pairs:,} pairs)", loc="left")
            panel.set_xlabel("References")
            panel.set_ylabel("Accuracy (%)")
        for panel in panels[len(curves) :]:
            panel.set_axis_off()
        panels[len(curves)].legend(
            *panels[0].get_legend_handles_labels(),
            frameon=False,
            loc="upper left",
            title="bands: 95 % interval over pairs\nbars: lowest and highest draw",
            alignment="left",
        )
        return figure


def _draw_curves(panel: Axes, metrics: Mapping[str, Sequence[Drawn]], counts: Sequence[int]) -> None:
    for place, (name, points) in enumerate(metrics.items()):
        colour = COLOURS[place % len(COLOURS)]
        means = np.array([100 * one.mean for one in points])
        low, high = np.array([[100 * one.low, 100 * one.high] for one in points]).T
        ends = np.array([[100 * one.lowest, 100 * one.highest] for one in points])
        panel.fill_between(counts, low, high, color=colour, alpha=0.06, linewidth=0)
        # Not less than 0, on whichever side of the mean rounding left an end.
        bars = np.abs(ends - means[:, None]).T
        panel.errorbar(counts, means, bars, color=colour, label=name, marker=".", elinewidth=0.8, capsize=1.5)
    panel.set_xscale("log")
    places = _spaced(counts)
    panel.set_xticks(places, [str(count) for count in places])
    panel.minorticks_off()


def _spaced(counts: Sequence[int]) -> list[int]:
    """The counts, without those whose labels would touch the next on a logarithmic axis."""
    places = sorted(set(counts), reverse=True)
    room = 0.07 * math.log(places[0] / places[-1])
    kept = places[:1]
    for count in places[1:]:
        if math.log(kept[-1] / count) >= room:
            kept.append(count)
    return kept


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
