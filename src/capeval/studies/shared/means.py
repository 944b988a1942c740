"""Means over images with their bootstrap replicates."""

from __future__ import annotations

import numpy as np

from capeval.data.scores import FloatArray
from capeval.scoring.bootstrap import BootstrapScore

__all__ = ["create_mean_score"]


def create_mean_score(
    name: str, values: FloatArray, resamples: FloatArray, *, seed: int, units: int
) -> BootstrapScore:
    """Return the mean of values with its resamples, and the acceleration of a mean.

    Args:
        name: The name of the score.
        values: The value of each image.
        resamples: The mean of each resample.
        seed: The seed of the resamples.
        units: The number of resampled images.

    Example:
        >>> import numpy as np
        >>> from capeval.studies.shared.means import create_mean_score
        >>> score = create_mean_score("M3", np.array([2.0, 4.0]), np.array([2.0, 3.0, 4.0]), seed=0, units=2)
        >>> score.score, score.acceleration
        (3.0, 0.0)
    """
    changes = values - values.mean()
    spread = 6 * float((changes**2).sum()) ** 1.5
    return BootstrapScore(
        name=name,
        score=float(values.mean()),
        values=np.asarray(resamples, dtype=np.float64),
        seed=seed,
        units=units,
        acceleration=float((changes**3).sum()) / spread if spread else 0.0,
    )
