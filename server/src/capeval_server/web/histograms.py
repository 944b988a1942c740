"""Histograms as SVG, in the light or dark colors of the page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from capeval.data.scores import FloatArray

__all__ = ["Histogram", "HistogramBar", "histogram"]

_BINS = 40


@dataclass(frozen=True, kw_only=True)
class HistogramBar:
    """A bar of a histogram.

    `place` is its bin, counted from the left, and `top` the distance from its top to the top of the highest
    bar. `count` values lie between `low` and `high`.
    """

    place: int
    top: int
    count: int
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """A distribution of values, with one bar per non-empty bin.

    Attributes:
        bars: The bars, from the lowest values to the highest.
        bins: The number of bins, including empty ones.
        most: The count of the highest bar.
        number: The number of values.
        low: The lowest value.
        high: The highest value.
        mean: The mean.
        median: The median.
        mean_place: The position of the mean, in bins from the left.
    """

    bars: list[HistogramBar]
    bins: int
    most: int
    number: int
    low: float
    high: float
    mean: float
    median: float
    mean_place: float


def histogram(values: FloatArray) -> Histogram | None:
    """Return the histogram of the finite values, or None if there are none."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    low, high, mean = float(finite.min()), float(finite.max()), float(finite.mean())
    span = high - low or 1.0
    counts, edges = np.histogram(finite, bins=_BINS, range=(low, low + span))
    most = int(counts.max())
    return Histogram(
        bars=[
            HistogramBar(place=place, top=most - count, count=count, low=edge, high=next_edge)
            for place, (count, edge, next_edge) in enumerate(
                zip(counts.tolist(), edges.tolist(), edges[1:].tolist(), strict=False)
            )
            if count
        ],
        bins=_BINS,
        most=most,
        number=int(finite.size),
        low=low,
        high=high,
        mean=mean,
        median=float(np.median(finite)),
        mean_place=round(_BINS * (mean - low) / span, 3),
    )
