"""Intervals of shares of points, over images."""

from __future__ import annotations

from capeval.data.scores import FloatArray
from capeval.scoring.bootstrap import Interval
from capeval.scoring.intervals import compute_share_interval

__all__ = ["create_share_interval"]


def create_share_interval(points: FloatArray, most: FloatArray, level: float) -> Interval:
    """Return a share of points with Wilson's interval for the effective number of images.

    Args:
        points: The points of each image.
        most: The maximum points of each image.
        level: The confidence level, between 0 and 1.

    Example:
        A system wins none of its comparisons, one for each of ten images:

        >>> import numpy as np
        >>> from capeval.studies.judging.intervals import create_share_interval
        >>> interval = create_share_interval(np.zeros(10), np.ones(10), 0.95)
        >>> interval.score, interval.low, round(interval.high, 3)
        (0.0, 0.0, 0.339)
    """
    low, high = compute_share_interval(points, most, level)
    score = float(points.sum() / most.sum())
    return Interval(score=score, low=low, high=high, level=level, samples=0, seed=0, method="Wilson")
