"""Strengths of systems from who wins against whom: the model of Bradley and Terry (1952)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from capeval.data.scores import FloatArray
from capeval.errors import MismatchError

__all__ = ["bradley_terry", "difference_errors", "is_connected"]

_MOST = 200
_CONVERGED = 1e-12


def is_connected(wins: FloatArray) -> bool:
    """Whether strengths are defined: from each system wins lead to every other, over others where needed."""
    reached: NDArray[np.bool_] = (wins > 0) | np.eye(len(wins), dtype=bool)
    for _ in range(len(wins).bit_length()):
        reached = (reached.astype(float) @ reached.astype(float)) > 0
    return bool(reached.all())


def bradley_terry(wins: FloatArray) -> FloatArray:
    """The strength of each system: the logarithm of its odds, which have the mean 0.

    System i wins against j with the probability 1 / (1 + exp(strength j - strength i)); the strengths are
    those that make the wins likeliest.

    Args:
        wins: How often each row's system wins against each column's; a tie is half a win for both.

    Raises:
        MismatchError: It is not a square of numbers of at least 0, or the strengths are not defined, since
            some systems never win against the others.
    """
    table = np.asarray(wins, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not len(table) or not (table >= 0).all():
        raise MismatchError(f"wins must be a square of numbers of at least 0 (got shape {table.shape})")
    if not is_connected(table):
        raise MismatchError("some systems never win against the others, so that strengths are not defined")
    games = table + table.T
    np.fill_diagonal(games, 0)
    won = table.sum(axis=1) - np.diag(table)
    strengths = np.zeros(len(table))
    likelihood = _likelihood(strengths, won, games)
    for _ in range(_MOST):
        expected = _expected(strengths)
        slope = won - (games * expected).sum(axis=1)
        curvature = _curvature(expected, games)
        # The strengths are defined up to a constant; adding 1 everywhere chooses the step with the mean 0.
        step = np.linalg.solve(curvature + 1 / len(table), slope)
        # Newton's step can go too far where few wins decide.
        while _likelihood(strengths + step, won, games) < likelihood - 1e-9:
            step /= 2
        strengths = strengths + step
        likelihood = _likelihood(strengths, won, games)
        if np.abs(step).max() < _CONVERGED:
            break
    centerd: FloatArray = strengths - strengths.mean()
    return centerd


def _expected(strengths: FloatArray) -> FloatArray:
    """How likely each row's system wins against each column's."""
    expected: FloatArray = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    return expected


def _curvature(expected: FloatArray, games: FloatArray) -> FloatArray:
    weights = games * expected * (1 - expected)
    curvature: FloatArray = np.diag(weights.sum(axis=1)) - weights
    return curvature


def difference_errors(wins: FloatArray, strengths: FloatArray) -> FloatArray:
    """The standard error of the difference of each two strengths, by the curvature of the likelihood.

    Args:
        wins: As `bradley_terry` takes them.
        strengths: What `bradley_terry` makes of them.
    """
    games = np.asarray(wins, dtype=np.float64) + np.asarray(wins, dtype=np.float64).T
    np.fill_diagonal(games, 0)
    # The mean of the strengths is fixed at 0: adding a constant everywhere fixes it.
    covariance = np.linalg.inv(_curvature(_expected(strengths), games) + 1 / len(games)) - 1 / len(games)
    variances = np.diag(covariance)[:, None] + np.diag(covariance)[None, :] - 2 * covariance
    errors: FloatArray = np.sqrt(np.maximum(variances, 0))
    return errors


def _likelihood(strengths: FloatArray, won: FloatArray, games: FloatArray) -> float:
    pairs = np.logaddexp(strengths[:, None], strengths[None, :])
    return float(won @ strengths - (games * pairs).sum() / 2)
