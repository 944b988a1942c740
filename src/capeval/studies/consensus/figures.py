"""Figures of the consensus study, like Figures 3 and 4 of the CIDEr paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from capeval.studies.consensus import SystemWins
from capeval.studies.shared.accuracy import Accuracy, AccuracyOverDraws

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["accuracy_curves", "accuracy_dots", "list_systems", "win_bars"]

_COLUMNS = 2


def list_systems(wins: Mapping[str, SystemWins]) -> list[str]:
    """Return the labels of the systems: their names, or `System 1` and so on for numbers."""
    systems = next(iter(wins.values())).fractions
    return [f"System {system}" if system.isdecimal() else system for system in systems]


def accuracy_dots(metrics: Mapping[str, Mapping[str, Accuracy]], judgment: str) -> Figure:
    """Plot the accuracy of each metric with its interval over pairs, one panel per class of pairs.

    Args:
        metrics: Metric to class to accuracy.
        judgment: The kind of judgment, for the title.
    """
    from capeval.report.figures import plot_intervals

    panels = {
        _name_class(kind, first.pairs): {
            name: (100 * of[kind].value, 100 * of[kind].low, 100 * of[kind].high)
            for name, of in metrics.items()
        }
        for kind, first in next(iter(metrics.values())).items()
    }
    return plot_intervals(
        panels, title=f"Accuracy (%) on {judgment} judgments, with 95% intervals over pairs"
    )


def _name_class(kind: str, pairs: int) -> str:
    return f"{'All' if kind == 'all' else kind} ({pairs:,} {'pair' if pairs == 1 else 'pairs'})"


def accuracy_curves(
    curves: Mapping[str, Mapping[str, Sequence[AccuracyOverDraws]]], counts: Sequence[int]
) -> Figure:
    """Plot the accuracy of each metric, one panel per class of pairs and one for all.

    Bands are the intervals over pairs. Bars are the lowest and highest draw of the references.

    Args:
        curves: Class to metric to the accuracy for each of `counts`.
        counts: The numbers of references.
    """
    from capeval.report.figures import paper_figure

    # One more place than panels, for the legend.
    rows = math.ceil((len(curves) + 1) / _COLUMNS)
    with paper_figure(2.0 * rows) as figure:
        panels = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
        for panel, (kind, metrics) in zip(panels, curves.items(), strict=False):
            pairs = next(iter(metrics.values()))[0].pairs
            _draw_curves(panel, metrics, counts)
            panel.set_title(_name_class(kind, pairs), loc="left")
            panel.set_xlabel("References")
            panel.set_ylabel("Accuracy (%)")
        for panel in panels[len(curves) :]:
            panel.set_axis_off()
        panels[len(curves)].legend(
            *panels[0].get_legend_handles_labels(),
            frameon=False,
            loc="upper left",
            title="bands: 95% interval over pairs\nbars: lowest and highest draw",
            fontsize=6,
            title_fontsize=6,
            alignment="left",
        )
        return figure


def _draw_curves(
    panel: Axes, metrics: Mapping[str, Sequence[AccuracyOverDraws]], counts: Sequence[int]
) -> None:
    from capeval.report.figures import get_color

    for place, (name, points) in enumerate(metrics.items()):
        color = get_color(place)
        means = np.array([100 * one.mean for one in points])
        low, high = np.array([[100 * one.low, 100 * one.high] for one in points]).T
        ends = np.array([[100 * one.lowest, 100 * one.highest] for one in points])
        panel.fill_between(counts, low, high, color=color, alpha=0.06, linewidth=0)
        # Rounding can move an end to the other side of the mean, and matplotlib rejects negative lengths.
        bars = np.abs(ends - means[:, None]).T
        panel.errorbar(counts, means, bars, color=color, label=name, marker=".", elinewidth=0.8, capsize=1.5)
    panel.set_xscale("log")
    places = _select_ticks(counts)
    panel.set_xticks(places, [str(count) for count in places])
    panel.minorticks_off()


def _select_ticks(counts: Sequence[int]) -> list[int]:
    """Return the counts, without those with labels too close on a logarithmic axis."""
    places = sorted(set(counts), reverse=True)
    room = 0.14 * math.log(places[0] / places[-1])
    spaced = places[:1]
    for count in places[1:]:
        if math.log(spaced[-1] / count) >= room:
            spaced.append(count)
    return spaced


def win_bars(wins: Mapping[str, SystemWins]) -> Figure:
    """Plot the fraction of wins: one group per system, one bar per judgment or metric.

    Args:
        wins: The fraction of wins of each system, by judgment or metric.
    """
    from capeval.report.figures import COLORS, get_color, paper_figure

    with paper_figure(2.6) as figure:
        panel = figure.subplots()
        systems = list_systems(wins)
        places, width = np.arange(len(systems)), 0.8 / len(wins)
        for turn, (name, won) in enumerate(wins.items()):
            offset = (turn - (len(wins) - 1) / 2) * width
            color = get_color(turn)
            # Colors repeat after eight bars; hatching distinguishes the repeated ones.
            hatch = "//" if turn >= len(COLORS) else None
            values = list(won.fractions.values())
            panel.bar(places + offset, values, width, color=color, label=name, hatch=hatch)
        panel.axhline(0.5, color="#888888", linewidth=0.8, linestyle=":")
        panel.set_xticks(places, [system.replace(" ", "\n") for system in systems])
        panel.set_ylabel("Fraction of wins")
        panel.set_title("Fraction of wins against the other systems", loc="left")
        figure.legend(frameon=False, ncols=3, loc="outside lower center")
        return figure
