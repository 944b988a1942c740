"""How precisely scores are shown: in full by public references; rounded by private ones, but to organizers.

With all digits, the scores of two submissions that differ in one caption tell what the references say of one
image: docs/server/organizing.md has the arithmetic.
"""

from __future__ import annotations

from capeval_server.submissions.scoring.score_arrays import finite

__all__ = ["shown", "shown_p"]

# As papers print scores, and pages show them.
_DIGITS, _DIGITS_OF_P = 3, 2


def shown(score: float | None, *, full: bool) -> float | None:
    """A score, or an end of its interval, as it is shown; None if it is not finite.

    Args:
        score: The score.
        full: Whether all digits may be seen.
    """
    number = finite(score)
    return number if full or number is None else round(number, _DIGITS)


def shown_p(value: float | None, *, full: bool) -> float | None:
    """A p-value as it is shown. The arguments are those of `shown`."""
    return value if full or value is None else round(value, _DIGITS_OF_P)
