"""Plot of the answers of a campaign by day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from functools import lru_cache
from itertools import accumulate
from typing import Any

from capeval_server.core.svg_plots import Theme, svg

__all__ = ["progress_plot"]

_HEIGHT = 2.6
# Widths in inches, for desktop and phone pages.
_WIDE, _NARROW = 7.6, 3.9


@lru_cache(maxsize=64)
def progress_plot(
    days: tuple[tuple[date, int], ...], wanted: int, *, ends: date | None, theme: Theme, narrow: bool
) -> bytes:
    """Return a plot of the cumulative counted answers, and the target, as SVG.

    Args:
        days: Number of answers of each day, in order.
        wanted: Number of required answers.
        ends: Expected day of completion at the current pace; None if unknown.
        theme: The colors of the page.
        narrow: Whether to draw the plot for phones.
    """

    def draw(figure: Any, colors: Mapping[str, str]) -> None:
        _draw(figure, colors, days, wanted, ends)

    return svg(theme, _NARROW if narrow else _WIDE, _HEIGHT, draw)


def _draw(
    figure: Any,
    colors: Mapping[str, str],
    days: tuple[tuple[date, int], ...],
    wanted: int,
    ends: date | None,
) -> None:
    from matplotlib import dates
    from matplotlib.ticker import MaxNLocator

    panel = figure.subplots()
    # The curve starts at 0 on the day before the first answers.
    places = [days[0][0] - timedelta(days=1), *(day for day, _ in days)]
    counts = [0, *accumulate(number for _, number in days)]
    panel.plot(places, counts, "-o", color=colors["dot"], markersize=4, lw=2)
    panel.axhline(wanted, color=colors["human"], lw=1.4, ls=(0, (4, 4)))
    if ends is not None and ends > places[-1]:
        panel.plot([places[-1], ends], [counts[-1], wanted], color=colors["dot"], lw=1.4, ls=(0, (1, 2)))
    panel.set_ylim(0, max(wanted, counts[-1]) * 1.08)
    panel.set_ylabel("counted answers")
    # The types of matplotlib don't cover its `dates` module.
    make: Any = dates
    # Dates are numbers of days, so whole numbers are days.
    locator = MaxNLocator(4, integer=True, min_n_ticks=1)
    panel.xaxis.set_major_locator(locator)
    panel.xaxis.set_major_formatter(make.ConciseDateFormatter(locator))
    panel.grid(axis="y")
    panel.set_axisbelow(True)
