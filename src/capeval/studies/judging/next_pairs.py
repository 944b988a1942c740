"""Adaptive sampling of comparisons: more for pairs with an uncertain order."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from capeval._internal.random import make_generator
from capeval._internal.validation import validate_integer, validate_number
from capeval.data.scores import FloatArray
from capeval.studies.judging.bradley_terry import compute_difference_errors, fit_bradley_terry, is_connected

__all__ = ["compute_next_shares", "draw_next_counts"]


def compute_next_shares(
    wins: FloatArray,
    pairs: Sequence[tuple[int, int]],
    *,
    going_on: Sequence[bool] | None = None,
    floor: float = 0.2,
) -> FloatArray:
    """Return the share of the next comparisons that each pair of systems gets.

    The share grows with the uncertainty of the pair's order: the probability of the reverse order, by the
    Bradley-Terry strengths and their standard errors. The part `floor` of all comparisons is distributed
    evenly over all pairs. Each pair of compared systems has one additional tie, as in `judge_wins`.

    The choice of the next comparison then depends on earlier answers. Estimates of strengths remain valid,
    because the model describes the winner of a given comparison. Fractions of wins are not comparable between
    systems, because systems met different opponents.

    Args:
        wins: The number of wins of each row's system against each column's system; a tie is half a win for
            both.
        pairs: The systems that are compared, as row numbers. Pairs of two captions of one system carry no
            information on strengths, and only get a part of the even distribution.
        going_on: Whether each pair has comparisons left; all by default.
        floor: The part that is distributed evenly.

    Returns:
        A share for each pair. Shares add up to 1, or to 0 if no pair has comparisons left. If the comparisons
        don't connect all systems, strengths are undefined and all pairs of two systems get equal shares.

    Raises:
        OptionError: `floor` is not between 0 and 1.

    Example:
        Systems 0 and 1 win equally often against each other, and both win against system 2. Their order
        is uncertain, so their pair gets most of the next comparisons:

        >>> import numpy as np
        >>> from capeval.studies.judging.next_pairs import compute_next_shares
        >>> wins = np.array([[0, 5, 9], [5, 0, 9], [1, 1, 0]])
        >>> compute_next_shares(wins, [(0, 1), (0, 2), (1, 2)]).round(3).tolist()
        [0.856, 0.072, 0.072]
    """
    validate_number("floor", floor, 0, 1)
    is_open = np.ones(len(pairs)) if going_on is None else np.array(going_on, dtype=np.float64)
    if not is_open.any():
        return is_open
    doubt = _compute_doubts(np.asarray(wins, dtype=np.float64), pairs) * is_open
    even: FloatArray = is_open / is_open.sum()
    return even if not doubt.sum() else floor * even + (1 - floor) * doubt / doubt.sum()


def _compute_doubts(wins: FloatArray, pairs: Sequence[tuple[int, int]]) -> FloatArray:
    """Return the probability that the weaker system is the stronger one.

    It is 0 for two captions of one system.
    """
    met = np.zeros_like(wins)
    different = np.array([one != other for one, other in pairs], dtype=np.float64)
    for one, other in pairs:
        if one != other:
            met[one, other] = met[other, one] = 1.0
    table = wins + met / 2
    if not is_connected(table):
        return different
    strengths = fit_bradley_terry(table)
    errors = compute_difference_errors(table, strengths)
    normal = NormalDist()
    return np.array(
        [
            0.0 if one == other else normal.cdf(-abs(strengths[one] - strengths[other]) / errors[one, other])
            for one, other in pairs
        ]
    )


def draw_next_counts(shares: FloatArray, number: int, *, seed: int, choice: int) -> list[int]:
    """Return the number of the next comparisons of each pair.

    It is the pair's share of them, randomly rounded up or down.

    Args:
        shares: The share of each pair. Shares add up to 1, or to 0 if there is nothing to compare.
        number: The number of comparisons.
        seed: The seed of the draw.
        choice: The number of the choice; each choice has its own draw.

    Raises:
        OptionError: `number` is below 1.

    Example:
        >>> import numpy as np
        >>> from capeval.studies.judging.next_pairs import draw_next_counts
        >>> draw_next_counts(np.array([0.5, 0.3, 0.2]), 10, seed=0, choice=0)
        [5, 3, 2]
    """
    validate_integer("number", number, 1)
    if not shares.any():
        return [0] * len(shares)
    ends = number * np.cumsum(shares)
    ends[-1] = number
    # Systematic sampling: one draw shifts all boundaries, so that the numbers add up.
    moved = np.floor(ends + make_generator(seed, choice).random())
    found: list[int] = np.diff(moved, prepend=0.0).astype(int).tolist()
    return found
