"""The answers of a campaign by day, as a plot."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from functools import lru_cache
from itertools import accumulate
from typing import Any

from capeval_server.core.svg_plots import Theme, svg

__all__ = ["progress_plot"]

_HEIGHT = 2.6
# The width in inches, for pages and for phones.
_WIDE, _NARROW = 7.6, 3.9


@lru_cache(maxsize=64)
def progress_plot(
    days: tuple[tuple[date, int], ...], wanted: int, *, ends: date | None, theme: Theme, narrow: bool
) -> bytes:
    """The answers that count, added up by day, with how many are wanted, as SVG.

    Args:
        days: How many answers came on each day, the earliest first.
        wanted: How many are wanted.
        ends: The day on which all will be there if the pace goes on; None where there is no pace.
        theme: The colors of the page.
        narrow: Whether it is for a phone.
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
    # From nothing on the day before the first.
    places = [days[0][0] - timedelta(days=1), *(day for day, _ in days)]
    counts = [0, *accumulate(number for _, number in days)]
    panel.plot(places, counts, "-o", color=colors["dot"], markersize=4, lw=2)
    panel.axhline(wanted, color=colors["human"], lw=1.4, ls=(0, (4, 4)))
    if ends is not None and ends > places[-1]:
        panel.plot([places[-1], ends], [counts[-1], wanted], color=colors["dot"], lw=1.4, ls=(0, (1, 2)))
    panel.set_ylim(0, max(wanted, counts[-1]) * 1.08)
    panel.set_ylabel("answers that count")
    # Of matplotlib, dates have no types.
    make: Any = dates
    # Dates are numbers of days, so whole numbers are days.
    locator = MaxNLocator(4, integer=True, min_n_ticks=1)
    panel.xaxis.set_major_locator(locator)
    panel.xaxis.set_major_formatter(make.ConciseDateFormatter(locator))
    panel.grid(axis="y")
    panel.set_axisbelow(True)
