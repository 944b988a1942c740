"""Matplotlib figures of studies, and their files."""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from capeval._internal.atomic_write import atomic_write

__all__ = [
    "COLORS",
    "COLUMN",
    "DARK",
    "LIGHT",
    "STYLE",
    "THEMES",
    "Curve",
    "Estimate",
    "Theme",
    "get_color",
    "get_text_color",
    "get_theme",
    "paper_figure",
    "plot_intervals",
    "plot_lines",
    "save_figure",
    "set_title",
    "to_svg",
    "use_theme",
]

COLUMN = 3.3
"""The width of a column in a paper with two columns, in inches."""

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


@dataclass(frozen=True, kw_only=True)
class Theme:
    """Colors of a figure, and the files that it is written to.

    Attributes:
        suffix: The end of the file names.
        formats: The formats of the files.
        background: The color of the figure and its panels.
        ink: The color of titles and labels, and of the last color of the palette.
        soft: The color of tick labels and of lines for comparison.
        grid: The color of grid lines.
        map: The colormap of counts, which begins with a color similar to the background.
    """

    suffix: str
    formats: tuple[str, ...]
    background: str
    ink: str
    soft: str
    grid: str
    map: str


LIGHT = Theme(
    suffix="",
    formats=("pdf", "png", "svg"),
    background="#ffffff",
    ink="#000000",
    soft="#555555",
    grid="#dddddd",
    map="Blues",
)
# The background is the one of the documentation.
DARK = Theme(
    suffix="-dark",
    formats=("png", "svg"),
    background="#14181e",
    ink="#f0f0f0",
    soft="#bbbbbb",
    grid="#3a3f46",
    map="Blues_r",
)
THEMES = (LIGHT, DARK)
"""The themes in which the figures of a study are written."""

_theme: ContextVar[Theme] = ContextVar("theme", default=LIGHT)
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
def use_theme(theme: Theme) -> Iterator[None]:
    """Draw the figures of `paper_figure` in a theme."""
    token = _theme.set(theme)
    try:
        yield
    finally:
        _theme.reset(token)


def get_theme() -> Theme:
    """Return the theme of the figures that are drawn now."""
    return _theme.get()


def get_color(place: int) -> str:
    """Return a color of the palette that is visible in the theme. After eight colors, they repeat."""
    color = COLORS[place % len(COLORS)]
    return get_theme().ink if color == LIGHT.ink else color


def get_text_color(background: Any) -> str:
    """Return black or white: the color with the higher contrast on a background.

    Args:
        background: A color of matplotlib.
    """
    channels = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in to_rgb(background)
    ]
    luminance = sum(weight * each for weight, each in zip((0.2126, 0.7152, 0.0722), channels, strict=True))
    # The luminance with equal contrasts: (L + 0.05)^2 = 0.05 * 1.05 (WCAG 2.2).
    return "black" if luminance > math.sqrt(0.05 * 1.05) - 0.05 else "white"


@contextmanager
def paper_figure(height: float, *, width: float = COLUMN) -> Iterator[Figure]:
    """Create a figure for a paper, with the style of studies and the theme while it is drawn.

    Args:
        height: The height in inches.
        width: The width in inches; one column by default.
    """
    theme = get_theme()
    colors: dict[Any, Any] = {
        "figure.facecolor": theme.background,
        "axes.facecolor": theme.background,
        "text.color": theme.ink,
        "axes.labelcolor": theme.ink,
        "xtick.color": theme.soft,
        "ytick.color": theme.soft,
        "grid.color": theme.grid,
    }
    with mpl.rc_context({**_PAPER, **colors}):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        # Matplotlib creates ticks when it draws.
        figure.draw_without_rendering()


def plot_lines(curves: Mapping[str, Curve], *, title: str, x_label: str, y_label: str) -> Figure:
    """Plot curves in one panel, with a legend and a band for the intervals of each."""
    with paper_figure(2.3) as figure:
        panel = figure.subplots()
        for place, (name, curve) in enumerate(curves.items()):
            color = get_color(place)
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
                panel.plot((low, high), (place, place), color=get_color(0), linewidth=1.5)
                panel.plot(value, place, marker="o", markersize=3, color=get_color(0))
            panel.set_yticks(range(len(values)), list(values))
            panel.set_ylim(len(values) - 0.5, -0.5)
            panel.set_title(name, loc="left")
            panel.grid(axis="x", linewidth=0.6)
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
