"""SVG plots in the colors of the pages."""

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
# matplotlib's settings are global to the process.
_drawing = threading.Lock()


def theme_named(name: str) -> Theme:
    """Return the theme that a URL names: "dark" or, by default, "light"."""
    return "dark" if name == "dark" else "light"


def svg(theme: Theme, width: float, height: float, draw: Callable[[Any, Mapping[str, str]], None]) -> bytes:
    """Draw a plot as SVG; equal input results in equal bytes.

    Args:
        theme: The theme, which determines the colors.
        width: The width in inches.
        height: The height in inches.
        draw: Called with a matplotlib figure and the colors; draws the plot.
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
