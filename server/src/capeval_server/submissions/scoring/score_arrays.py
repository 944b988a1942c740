"""Conversion between score arrays and bytes in the database."""

from __future__ import annotations

import math
import zlib

import numpy as np

from capeval.data.scores import FloatArray
from capeval.metrics import METRICS
from capeval.scoring.significance import SwapSums
from capeval_server.submissions.models import ImageScores, Result, Score, SwappedStatistics

__all__ = ["finite", "image_scores_of", "packed_samples", "packed_values", "samples_of", "swaps_of"]

# A fixed byte order on all machines.
_SAMPLES, _VALUES = np.dtype("<f4"), np.dtype("<f8")


def finite(value: float | None) -> float | None:
    """Return the value if it is finite, else None."""
    return value if value is not None and math.isfinite(value) else None


def samples_of(score: Score) -> np.ndarray[tuple[int], np.dtype[np.float32]] | None:
    """Return the bootstrap replicates of a score, or None if they are not stored.

    Replicates of one subset by one version of references are paired: each is computed on the same images.
    """
    data = bytes(score.samples)
    return np.frombuffer(data, _SAMPLES).astype(np.float32, copy=False) if data else None


def packed_samples(values: FloatArray) -> bytes:
    """Return bootstrap replicates in the format of `Score.samples`."""
    return np.ascontiguousarray(values, _SAMPLES).tobytes()


def image_scores_of(result: Result) -> tuple[list[str], FloatArray] | None:
    """Return the scores of each image, or None if not stored (private references).

    Returns:
        The names of the scores, and an array with one row per image, in the order of the reference set's
        `image_ids`, and one column per name.
    """
    kept = ImageScores.objects.filter(result=result).first()
    if kept is None:
        return None
    return list(kept.names), _unpack_values(kept.values).reshape(-1, len(kept.names))


def swaps_of(sums: SwappedStatistics, metric: str) -> SwapSums | None:
    """Return stored sums over swapped images, or None if the metric no longer has these statistics."""
    if metric not in METRICS:
        return None
    made, values = METRICS[metric](), _unpack_values(sums.values)
    if values.size % len(made.statistics):
        return None
    total, *_ = rows = values.reshape(-1, len(made.statistics))
    return SwapSums(metric=made, total=total, rows=rows[1:], images=sums.images)


def packed_values(values: FloatArray) -> bytes:
    """Return an array in the format of `ImageScores.values` and `SwappedStatistics.values`."""
    return zlib.compress(np.ascontiguousarray(values, _VALUES).tobytes())


def _unpack_values(data: bytes | memoryview) -> FloatArray:
    return np.frombuffer(zlib.decompress(bytes(data)), _VALUES).astype(np.float64, copy=False)
