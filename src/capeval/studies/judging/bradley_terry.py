"""System strengths from pairwise wins: the model of Bradley and Terry (1952)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from capeval.data.scores import FloatArray
from capeval.errors import MismatchError

__all__ = [
    "compute_difference_errors",
    "compute_strength_errors",
    "compute_win_probabilities",
    "fit_bradley_terry",
    "is_connected",
]

_MAX_ITERATIONS = 200
_TOLERANCE = 1e-12


def is_connected(wins: FloatArray) -> bool:
    """Return whether strengths are defined.

    They are if chains of wins lead from each system to every other system.

    Example:
        >>> import numpy as np
        >>> from capeval.studies.judging.bradley_terry import is_connected
        >>> is_connected(np.array([[0.0, 3.0], [1.0, 0.0]]))
        True
        >>> is_connected(np.array([[0.0, 4.0], [0.0, 0.0]]))  # The second system never wins.
        False
    """
    reached: NDArray[np.bool_] = (wins > 0) | np.eye(len(wins), dtype=bool)
    for _ in range(len(wins).bit_length()):
        reached = (reached.astype(float) @ reached.astype(float)) > 0
    return bool(reached.all())


def fit_bradley_terry(wins: FloatArray) -> FloatArray:
    """Return the strength of each system: its log-odds, with mean 0.

    System i wins against j with the probability 1 / (1 + exp(strength j - strength i)). The strengths
    maximize the likelihood of the wins.

    Args:
        wins: The number of wins of each row's system against each column's system; a tie is half a win for
            both.

    Raises:
        MismatchError: The array is not square or has negative numbers, or the strengths are undefined because
            some systems never win against the others.

    Example:
        >>> import numpy as np
        >>> from capeval.studies.judging.bradley_terry import fit_bradley_terry
        >>> strengths = fit_bradley_terry(np.array([[0.0, 3.0], [1.0, 0.0]]))
        >>> strengths.round(3).tolist()  # The difference is log(3 / 1).
        [0.549, -0.549]
    """
    table = np.asarray(wins, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not len(table) or not (table >= 0).all():
        raise MismatchError(f"wins must be a square table of numbers of at least 0 (got shape {table.shape})")
    if not is_connected(table):
        raise MismatchError("strengths are undefined: some systems never win against the others")
    games = table + table.T
    np.fill_diagonal(games, 0)
    won = table.sum(axis=1) - np.diag(table)
    strengths = np.zeros(len(table))
    likelihood = _log_likelihood(strengths, won, games)
    for _ in range(_MAX_ITERATIONS):
        expected = compute_win_probabilities(strengths)
        slope = won - (games * expected).sum(axis=1)
        curvature = _compute_curvature(expected, games)
        # Strengths are defined up to a constant; adding 1 / n everywhere selects the step with mean 0.
        step = np.linalg.solve(curvature + 1 / len(table), slope)
        # Newton's step can overshoot if the table has few wins.
        while _log_likelihood(strengths + step, won, games) < likelihood - 1e-9:
            step /= 2
        strengths = strengths + step
        likelihood = _log_likelihood(strengths, won, games)
        if np.abs(step).max() < _TOLERANCE:
            break
    centered: FloatArray = strengths - strengths.mean()
    return centered


def compute_win_probabilities(strengths: FloatArray) -> FloatArray:
    """Return the win probability of each row's system against each column's.

    Example:
        >>> import numpy as np
        >>> from capeval.studies.judging.bradley_terry import compute_win_probabilities
        >>> compute_win_probabilities(np.array([np.log(3), 0.0])).round(3).tolist()
        [[0.5, 0.75], [0.25, 0.5]]
    """
    expected: FloatArray = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    return expected


def _compute_curvature(expected: FloatArray, games: FloatArray) -> FloatArray:
    weights = games * expected * (1 - expected)
    curvature: FloatArray = np.diag(weights.sum(axis=1)) - weights
    return curvature


def compute_difference_errors(wins: FloatArray, strengths: FloatArray) -> FloatArray:
    """Return the standard error of the difference of every two strengths.

    The errors come from the curvature of the likelihood.

    Args:
        wins: The table of wins, as in `fit_bradley_terry`.
        strengths: The strengths from `fit_bradley_terry`.

    Example:
        >>> import numpy as np
        >>> from capeval.studies.judging.bradley_terry import compute_difference_errors, fit_bradley_terry
        >>> wins = np.array([[0.0, 3.0], [1.0, 0.0]])
        >>> errors = compute_difference_errors(wins, fit_bradley_terry(wins))
        >>> errors.round(3).tolist()  # sqrt(1 / 3 + 1 / 1)
        [[0.0, 1.155], [1.155, 0.0]]
    """
    covariance = _compute_covariance(wins, strengths)
    variances = np.diag(covariance)[:, None] + np.diag(covariance)[None, :] - 2 * covariance
    errors: FloatArray = np.sqrt(np.maximum(variances, 0))
    return errors


def compute_strength_errors(wins: FloatArray, strengths: FloatArray, surplus: FloatArray) -> FloatArray:
    """Return the standard error of each strength, for images as independent units.

    It is the cluster-robust standard error (the sandwich estimator, with images as clusters), and at least
    the standard error of independent comparisons. Without this minimum, a system that wins every comparison
    would have an error close to 0.

    Args:
        wins: The table of wins, as in `fit_bradley_terry`.
        strengths: The strengths from `fit_bradley_terry`.
        surplus: The wins of each system in each image, minus the wins that its strength predicts: images by
            systems.

    Example:
        The first system wins three of four images:

        >>> import numpy as np
        >>> from capeval.studies.judging.bradley_terry import compute_strength_errors, fit_bradley_terry
        >>> wins = np.array([[0.0, 3.0], [1.0, 0.0]])
        >>> surplus = np.array([[0.25, -0.25], [0.25, -0.25], [0.25, -0.25], [-0.75, 0.75]])
        >>> compute_strength_errors(wins, fit_bradley_terry(wins), surplus).round(3).tolist()
        [0.667, 0.667]
    """
    images = len(surplus)
    covariance = _compute_covariance(wins, strengths)
    influence = surplus @ covariance
    robust = (influence**2).sum(axis=0) * images / (images - 1)
    errors: FloatArray = np.sqrt(np.maximum(robust, np.diag(covariance)))
    return errors


def _compute_covariance(wins: FloatArray, strengths: FloatArray) -> FloatArray:
    """Return the covariance of the strengths for independent comparisons."""
    games = np.asarray(wins, dtype=np.float64) + np.asarray(wins, dtype=np.float64).T
    np.fill_diagonal(games, 0)
    curvature = _compute_curvature(compute_win_probabilities(strengths), games)
    # The mean of the strengths is 0; adding a constant everywhere makes the matrix invertible.
    return np.asarray(np.linalg.inv(curvature + 1 / len(games)) - 1 / len(games), dtype=np.float64)


def _log_likelihood(strengths: FloatArray, won: FloatArray, games: FloatArray) -> float:
    pairs = np.logaddexp(strengths[:, None], strengths[None, :])
    return float(won @ strengths - (games * pairs).sum() / 2)
