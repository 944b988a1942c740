"""Matplotlib figures of studies, and their files."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from capeval._internal.atomic_write import atomic_write

__all__ = ["COLORS", "COLUMN", "STYLE", "Curve", "paper_figure", "plot_lines", "save", "to_svg"]

COLUMN = 3.3
"""The width of a column in a paper with two columns, in inches."""

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
        panel.set_title(title, loc="left")
        panel.set_xlabel(x_label)
        panel.set_ylabel(y_label)
        panel.legend(frameon=False)
        return figure


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


def save(figure: Figure, path: Path) -> tuple[Path, Path]:
    """Write a figure as PNG and as SVG, each atomically.

    Args:
        figure: The figure.
        path: The path of the files without a suffix.

    Returns:
        The paths of both files. The same figure gives the same bytes.

    Raises:
        OSError: A file can't be written.
    """
    png = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(png, format="png", dpi=_DOTS_PER_INCH, metadata={"Software": None})
    written = []
    svg = to_svg(figure, path.name, dpi=_DOTS_PER_INCH)
    for form, data in (("png", png.getvalue()), ("svg", svg)):
        target = path.with_name(f"{path.name}.{form}")
        with atomic_write(target) as file:
            file.write(data)
        written.append(target)
    return written[0], written[1]
