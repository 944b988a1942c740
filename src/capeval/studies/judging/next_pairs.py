"""Which systems to compare next: those of which it is least certain which of the two is the better."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from capeval._internal.random import generator
from capeval._internal.validation import checked_integer, checked_number
from capeval.data.scores import FloatArray
from capeval.studies.judging.bradley_terry import bradley_terry, difference_errors, is_connected

__all__ = ["next_numbers", "next_shares"]


def next_shares(
    wins: FloatArray,
    pairs: Sequence[tuple[int, int]],
    *,
    going_on: Sequence[bool] | None = None,
    floor: float = 0.2,
) -> FloatArray:
    """The part of the next comparisons that each two systems get.

    It is larger the less certain their order is: the probability of the other order, by the strengths of the
    model of Bradley and Terry and their standard errors. A part of all is given to all pairs evenly, whatever
    is known of them. Each two systems that are compared have one tie more, as in `judge_wins`.

    Which comparison comes next depends on earlier answers then. Strengths are estimated as ever, since the
    model is of the winner of a comparison, whichever was chosen; fractions of wins are not comparable between
    systems, as each met others.

    Args:
        wins: How often each row's system wins against each column's; a tie is half a win for both.
        pairs: The systems that are compared, as numbers of rows. Two captions of one system say nothing of
            strengths, and get what is given evenly.
        going_on: Whether there are comparisons left of each pair; all by default.
        floor: The part of all that is given evenly.

    Returns:
        A part for each pair, which add up to 1, or to 0 where none goes on. Where comparisons don't connect
        all systems, strengths are not defined, and all get the same.

    Raises:
        OptionError: `floor` is not from 0 to 1.
    """
    checked_number("floor", floor, 0, 1)
    open_ = np.ones(len(pairs)) if going_on is None else np.array(going_on, dtype=np.float64)
    if not open_.any():
        return open_
    doubt = _doubts(np.asarray(wins, dtype=np.float64), pairs) * open_
    even: FloatArray = open_ / open_.sum()
    return even if not doubt.sum() else floor * even + (1 - floor) * doubt / doubt.sum()


def _doubts(wins: FloatArray, pairs: Sequence[tuple[int, int]]) -> FloatArray:
    """How likely the weaker of two systems is the stronger; 0 for two captions of one system."""
    met = np.zeros_like(wins)
    different = np.array([one != other for one, other in pairs], dtype=np.float64)
    for one, other in pairs:
        if one != other:
            met[one, other] = met[other, one] = 1.0
    table = wins + met / 2
    if not is_connected(table):
        return different
    strengths = bradley_terry(table)
    errors = difference_errors(table, strengths)
    normal = NormalDist()
    return np.array(
        [
            0.0 if one == other else normal.cdf(-abs(strengths[one] - strengths[other]) / errors[one, other])
            for one, other in pairs
        ]
    )


def next_numbers(shares: FloatArray, number: int, *, seed: int, choice: int) -> list[int]:
    """How many of the next comparisons are of each pair: its share of them, rounded up or down by a draw.

    Args:
        shares: The part of each, which add up to 1, or to 0 where there is nothing to compare.
        number: How many comparisons there are.
        seed: The seed of the draw.
        choice: The number of the choice, of which each has a draw of its own.

    Raises:
        OptionError: `number` is below 1.
    """
    checked_integer("number", number, 1)
    if not shares.any():
        return [0] * len(shares)
    ends = number * np.cumsum(shares)
    ends[-1] = number
    # Systematic sampling: one draw moves all ends, so that the numbers add up.
    moved = np.floor(ends + generator(seed, choice).random())
    found: list[int] = np.diff(moved, prepend=0.0).astype(int).tolist()
    return found
