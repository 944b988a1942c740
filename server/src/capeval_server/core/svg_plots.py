"""Plots as SVG, in the colors of the pages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal

__all__ = ["COLORS", "Theme", "svg", "theme_named"]

Theme = Literal["light", "dark"]
COLORS: dict[Theme, dict[str, str]] = {
    "light": {"text": "#1f1e1b", "muted": "#625e56", "line": "#e4e0d9", "dot": "#0d666a", "human": "#b45f06"},
    "dark": {"text": "#e8e6e1", "muted": "#a9a69f", "line": "#34383b", "dot": "#68c9c4", "human": "#e6bd6c"},
}
# matplotlib's settings are those of the whole process.
_drawing = threading.Lock()


def theme_named(name: str) -> Theme:
    """The theme that an address asks for: the light one unless it is the dark one."""
    return "dark" if name == "dark" else "light"


def svg(theme: Theme, width: float, height: float, draw: Callable[[Any, Mapping[str, str]], None]) -> bytes:
    """A plot as SVG, the same bytes each time.

    Args:
        theme: The colors of the page.
        width: Its width in inches.
        height: Its height in inches.
        draw: Draws on a figure of matplotlib's, in some colors.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from capeval.report.figures import STYLE, to_svg

    colors = COLORS[theme]
    style: dict[Any, Any] = {
        **STYLE,
        # A dollar sign in a name does not start a formula.
        "text.parse_math": False,
        "text.color": colors["text"],
        "axes.labelcolor": colors["muted"],
        "axes.edgecolor": colors["line"],
        "xtick.color": colors["muted"],
        "ytick.color": colors["text"],
        "grid.color": colors["line"],
    }
    with _drawing, mpl.rc_context(style):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure, colors)
        return to_svg(figure, "capeval", transparent=True)
