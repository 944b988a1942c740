"""Plots of leaderboards: the best submissions as dots with intervals."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any

from capeval_server.core.svg_plots import Theme, svg
from capeval_server.leaderboards.entries import Leaderboard

__all__ = ["TOP", "Dot", "Plot", "plot"]

# Maximum number of rows of a plot.
TOP = 30
# Width in inches and maximum characters of a team's name, for desktops and phones.
_WIDE, _NARROW = (7.6, 34), (3.9, 18)


@dataclass(frozen=True)
class Dot:
    """Row of a plot."""

    label: str
    score: float
    low: float
    high: float
    baseline: bool


@dataclass(frozen=True)
class Plot:
    """Content of a plot."""

    score: str
    theme: Theme
    dots: tuple[Dot, ...]
    narrow: bool

    @property
    def etag(self) -> str:
        """ETag; equal for plots that look the same."""
        return f'"{hashlib.sha256(repr(astuple(self)).encode()).hexdigest()[:32]}"'

    def svg(self) -> bytes:
        """Return the plot as SVG."""
        return _render(self)


def plot(board: Leaderboard, theme: Theme, *, narrow: bool = False) -> Plot:
    """Return the plot of the first rows that have the score to sort by.

    Args:
        board: The leaderboard.
        theme: The colors of the page.
        narrow: Whether the plot is for a phone.
    """
    score = board.question.sorted_column
    dots = []
    for row in board.rows:
        value = row.scores[score]
        if value is not None:
            low, high = row.intervals[score] or (value, value)
            dots.append(Dot(_format_label(row.rank, row.team, narrow), value, low, high, row.baseline))
    return Plot(score, theme, tuple(dots[:TOP]), narrow)


def _format_label(rank: int | None, team: str, narrow: bool) -> str:
    _, most = _NARROW if narrow else _WIDE
    short = team if len(team) <= most else f"{team[: most - 1]}…"
    return short if rank is None else f"{rank}  {short}"


@lru_cache(maxsize=64)
def _render(plot: Plot) -> bytes:
    width, _ = _NARROW if plot.narrow else _WIDE
    height = 1.0 + 0.25 * max(len(plot.dots), 1)
    return svg(plot.theme, width, height, lambda figure, colors: _draw(figure, plot, colors))


def _draw(figure: Any, plot: Plot, colors: Mapping[str, str]) -> None:
    panel = figure.subplots()
    for baseline, color, marker in ((False, colors["dot"], "o"), (True, colors["human"], "D")):
        places = [place for place, dot in enumerate(plot.dots) if dot.baseline == baseline]
        dots: Sequence[Dot] = [plot.dots[place] for place in places]
        panel.hlines(
            places, [dot.low for dot in dots], [dot.high for dot in dots], colors=color, lw=2.4, alpha=0.4
        )
        panel.plot([dot.score for dot in dots], places, marker, color=color, markersize=5)
        if baseline:
            for dot in dots:
                panel.axvline(dot.score, color=color, lw=1, ls=(0, (4, 4)), alpha=0.7, zorder=0)
    panel.set_yticks(range(len(plot.dots)), labels=[dot.label for dot in plot.dots])
    panel.set_ylim(max(len(plot.dots), 1) - 0.4, -0.6)
    panel.set_xlabel(f"{plot.score}, with its 95% interval")
    panel.locator_params(axis="x", nbins=5 if plot.narrow else "auto")
    panel.spines[["left"]].set_visible(False)
    panel.tick_params(axis="both", length=0)
    panel.grid(axis="x")
    panel.set_axisbelow(True)
