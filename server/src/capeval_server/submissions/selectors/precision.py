"""Precision of shown scores: full for public references, rounded for private ones.

Organizers see all digits. With all digits, the scores of two submissions that differ in one caption reveal
the references of one image; see the calculation in docs/server/organizing.md.
"""

from __future__ import annotations

import math

from capeval_server.submissions.scoring.score_arrays import finite

__all__ = ["round_p_value", "shown"]

# The usual precision in papers, also used on pages.
_DIGITS, _DIGITS_OF_P = 3, 2


def shown(score: float | None, *, full: bool) -> float | None:
    """Return a score or interval end as shown, or None if it is not finite.

    Args:
        score: The score.
        full: Whether to show all digits.
    """
    number = finite(score)
    return number if full or number is None else round(number, _DIGITS)


def round_p_value(value: float | None, *, full: bool) -> float | None:
    """Return a p-value as shown, rounded up because none is 0; the arguments are as in `shown`."""
    if full or value is None:
        return value
    steps: int = 10**_DIGITS_OF_P
    # Without the last digits of the product, which would round 0.07 up to 0.08.
    return math.ceil(round(value * steps, 9)) / steps
