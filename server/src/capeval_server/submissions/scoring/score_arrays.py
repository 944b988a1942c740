"""Arrays of scores as bytes in the tables, and back."""

from __future__ import annotations

import math
import zlib

import numpy as np

from capeval.data.scores import FloatArray
from capeval_server.submissions.models import ImageScores, Result, Score

__all__ = ["finite", "image_scores_of", "packed_image_scores", "packed_samples", "samples_of"]

# One byte order, whatever machine writes and reads.
_SAMPLES, _IMAGES = np.dtype("<f4"), np.dtype("<f8")


def finite(value: float | None) -> float | None:
    """The value if it is finite, else None."""
    return value if value is not None and math.isfinite(value) else None


def samples_of(score: Score) -> np.ndarray[tuple[int], np.dtype[np.float32]] | None:
    """The score of each bootstrap resample; none if they were not kept.

    Resamples of the same subset by the same version of references are paired: each is of the same images.
    """
    data = bytes(score.samples)
    return np.frombuffer(data, _SAMPLES).astype(np.float32, copy=False) if data else None


def packed_samples(values: FloatArray) -> bytes:
    """The score of each resample, as `Score.samples` keeps them."""
    return np.ascontiguousarray(values, _SAMPLES).tobytes()


def image_scores_of(result: Result) -> tuple[list[str], FloatArray] | None:
    """The scores of each image; none where they were not kept, as for private references.

    Returns:
        The names of the scores, and an array of a row for each image, in the order of the reference set's
        `image_ids`, and a column for each name.
    """
    kept = ImageScores.objects.filter(result=result).first()
    if kept is None:
        return None
    values = np.frombuffer(zlib.decompress(bytes(kept.values)), _IMAGES)
    return list(kept.names), values.reshape(-1, len(kept.names)).astype(np.float64, copy=False)


def packed_image_scores(values: FloatArray) -> bytes:
    """The scores of each image, as `ImageScores.values` keeps them."""
    return zlib.compress(np.ascontiguousarray(values, _IMAGES).tobytes())
