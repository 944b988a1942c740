"""Histograms as SVG within the page, which so has the page's colours, light or dark."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from capeval.data.scores import FloatArray

__all__ = ["Bar", "Histogram", "histogram"]

WIDTH, HEIGHT = 600, 120
_BARS = 40


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar: where it is drawn, and what it counts."""

    x: float
    y: float
    width: float
    height: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """How the values of many images are spread.

    Attributes:
        bars: The bars, from the lowest values to the highest.
        low: The lowest value.
        high: The highest value.
        mean: The mean.
        median: The median.
        mean_x: Where the mean is drawn.
        images: How many images have a value.
        most: How many images the highest bar counts.
    """

    bars: list[Bar]
    low: float
    high: float
    mean: float
    median: float
    mean_x: float
    images: int
    most: int


def histogram(values: FloatArray) -> Histogram | None:
    """The histogram of the finite values; none where there are none."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    low, high = float(finite.min()), float(finite.max())
    span = high - low or 1.0
    counts, edges = np.histogram(finite, bins=_BARS, range=(low, low + span))
    most = int(counts.max())
    step = WIDTH / _BARS
    bars = [
        Bar(
            x=round(place * step + 0.5, 2),
            y=round(HEIGHT - HEIGHT * count / most, 2),
            width=round(step - 1, 2),
            height=round(HEIGHT * count / most, 2),
            low=float(edges[place]),
            high=float(edges[place + 1]),
            count=int(count),
        )
        for place, count in enumerate(counts)
        if count
    ]
    mean = float(finite.mean())
    return Histogram(
        bars=bars,
        low=low,
        high=high,
        mean=mean,
        median=float(np.median(finite)),
        mean_x=round(WIDTH * (mean - low) / span, 2),
        images=int(finite.size),
        most=most,
    )
