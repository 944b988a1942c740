"""Matplotlib figures of studies, and their files."""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from capeval._internal.atomic_write import atomic_write

__all__ = [
    "COLORS",
    "COLUMN",
    "FORMATS",
    "STYLE",
    "Curve",
    "Estimate",
    "paper_figure",
    "plot_intervals",
    "plot_lines",
    "save_figure",
    "set_title",
    "to_svg",
]

COLUMN = 3.3
"""The width of a column in a paper with two columns, in inches."""

FORMATS = ("pdf", "png", "svg")
"""The formats in which the figures of a study are written."""

Estimate = tuple[float, float, float]
"""A value and the ends of its interval; the ends are NaN without an interval."""

# The palette of Okabe and Ito, which is safe for color-blind readers.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
STYLE: dict[Any, Any] = {
    # Text stays text in SVG, so that it is searchable and uses the fonts of the page.
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.edgecolor": "#888888",
    "xtick.color": "#555555",
    "ytick.color": "#555555",
}
# Sizes for figures that are printed at their own width.
_PAPER: dict[Any, Any] = {
    **STYLE,
    "font.size": 7,
    "axes.titlesize": 7.5,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1,
    "lines.markersize": 4,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.handlelength": 1.5,
}
_DOTS_PER_INCH = 300
# The longest line of a title, in characters.
_TITLE_LINE = 48


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One curve of a figure.

    Attributes:
        x: The x values.
        y: The y values.
        low: The lower ends of the intervals of the y values, if there are any.
        high: The upper ends of the intervals.
    """

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@contextmanager
def paper_figure(height: float, *, width: float = COLUMN) -> Iterator[Figure]:
    """Create a figure for a paper, with the style of studies while it is drawn.

    Args:
        height: The height in inches.
        width: The width in inches; one column by default.
    """
    with mpl.rc_context(_PAPER):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        # Matplotlib creates ticks when it draws.
        figure.draw_without_rendering()


def plot_lines(curves: Mapping[str, Curve], *, title: str, x_label: str, y_label: str) -> Figure:
    """Plot curves in one panel, with a legend and a band for the intervals of each."""
    with paper_figure(2.3) as figure:
        panel = figure.subplots()
        for place, (name, curve) in enumerate(curves.items()):
            color = COLORS[place % len(COLORS)]
            panel.plot(curve.x, curve.y, marker=".", color=color, label=name)
            if curve.low is not None and curve.high is not None:
                panel.fill_between(curve.x, curve.low, curve.high, color=color, alpha=0.15, linewidth=0)
        set_title(figure, title)
        panel.set_xlabel(x_label)
        panel.set_ylabel(y_label)
        panel.legend(frameon=False)
        return figure


def plot_intervals(panels: Mapping[str, Mapping[str, Estimate]], *, title: str) -> Figure:
    """Plot values with their intervals, one line per name, in two columns of panels.

    Args:
        panels: The values by name, by the title of the panel.
        title: The title of the figure.
    """
    columns = min(len(panels), 2)
    rows = math.ceil(len(panels) / columns)
    most = max(map(len, panels.values()))
    names = {tuple(values) for values in panels.values()}
    titles = [textwrap.fill(name, _TITLE_LINE // columns) for name in panels]
    lines = 1 + max(title.count("\n") for title in titles)
    with paper_figure(0.3 + rows * (0.33 + 0.12 * lines + 0.15 * most)) as figure:
        axes = figure.subplots(rows, columns, squeeze=False, sharey=len(names) == 1).flat
        for panel, name, values in zip(axes, titles, panels.values(), strict=False):
            for place, (value, low, high) in enumerate(values.values()):
                panel.plot((low, high), (place, place), color=COLORS[0], linewidth=1.5)
                panel.plot(value, place, marker="o", markersize=3, color=COLORS[0])
            panel.set_yticks(range(len(values)), list(values))
            panel.set_ylim(len(values) - 0.5, -0.5)
            panel.set_title(name, loc="left")
            panel.grid(axis="x", color="#dddddd", linewidth=0.6)
        for panel in list(figure.axes)[len(panels) :]:
            panel.set_axis_off()
        set_title(figure, title)
        return figure


def set_title(figure: Figure, title: str) -> None:
    """Set the title of a figure of one column, in lines that fit."""
    figure.suptitle(textwrap.fill(title, _TITLE_LINE), x=0.01, ha="left", fontsize=7.5, fontweight="bold")


def to_svg(figure: Figure, salt: str, **options: Any) -> bytes:
    """Return a figure as SVG; the same figure gives the same bytes.

    Args:
        figure: The figure.
        salt: The salt of the ids in the SVG.
        options: Additional options of matplotlib's `savefig`.
    """
    data = io.BytesIO()
    with mpl.rc_context({**STYLE, "svg.hashsalt": salt}), warnings.catch_warnings():
        # Text is rendered with the reader's fonts, which may contain glyphs missing from matplotlib's.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        figure.savefig(data, format="svg", metadata={"Date": None, "Creator": None}, **options)
    return data.getvalue()


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PDF, PNG or SVG, atomically. The same figure gives the same bytes.

    Raises:
        OSError: The file can't be written.
    """
    form = path.suffix[1:].lower()
    if form == "svg":
        content = to_svg(figure, path.stem, dpi=_DOTS_PER_INCH)
    else:
        names = {"pdf": ("CreationDate", "Creator", "Producer"), "png": ("Software",)}[form]
        data = io.BytesIO()
        # Fonts of type 42 stay text in PDF.
        with mpl.rc_context({**STYLE, "pdf.fonttype": 42}):
            figure.savefig(data, format=form, dpi=_DOTS_PER_INCH, metadata=dict.fromkeys(names))
        content = data.getvalue()
    with atomic_write(path) as file:
        file.write(content)
