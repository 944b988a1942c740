"""Confidence intervals of correlation coefficients over systems.

They are computed from a coefficient and the number of systems: with few systems, a bootstrap of the systems
has intervals of zero width if the order of all systems agrees.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist

from capeval._internal.validation import validate_choice
from capeval.scoring.bootstrap import Interval
from capeval.scoring.grids import Cell

__all__ = ["FEWEST_SYSTEMS", "build_interval_cell", "compute_system_interval", "list_interval_notes"]

FEWEST_SYSTEMS = 4
"""With fewer systems, a correlation has no interval."""

FEWEST_FOR_TAU = 5
"""With fewer systems, Kendall's tau and the accuracy have no interval."""


def compute_system_interval(coefficient: str, value: float, systems: int, *, level: float = 0.95) -> Interval:
    """Return a coefficient with its interval over systems.

    The inverse hyperbolic tangent of the coefficient is nearly normal. Its variance is `1 / (n - 3)` for
    Pearson's r (Fisher 1921), `(1 + rho^2 / 2) / (n - 3)` for Spearman's rho (Bonett and Wright 2000), and
    `0.437 / (n - 4)` for Kendall's tau (Fieller, Hartley and Pearson 1957). Coefficients of ranks are
    corrected for continuity: an end of the interval starts at the coefficient after one exchange of two
    neighbors in a ranking, so that the interval of perfect agreement has a width. The
    accuracy has the interval of `tau = 2 accuracy - 1`.

    Args:
        coefficient: One of `COEFFICIENTS`.
        value: The coefficient of the systems.
        systems: The number of systems. With fewer than four (five for tau and accuracy), there is no
            interval.
        level: The confidence level, between 0 and 1.

    Raises:
        OptionError: The coefficient is unknown.

    Example:
        >>> from capeval.studies.shared.system_intervals import compute_system_interval
        >>> interval = compute_system_interval("Pearson", 0.9, 17)
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.739, 0.964)
        >>> perfect = compute_system_interval("tau-b", 1.0, 10)
        >>> round(perfect.low, 3), perfect.high
        (0.877, 1.0)
    """
    validate_choice("coefficient", coefficient, tuple(_METHODS))
    method, compute_variance = _METHODS[coefficient]
    low = high = math.nan
    fewest = FEWEST_FOR_TAU if method == "Fieller" else FEWEST_SYSTEMS
    if systems >= fewest:
        is_share = coefficient == "accuracy"
        center = 2 * value - 1 if is_share else value
        variance, step = compute_variance(center, systems)
        reach = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance)
        ends = (math.tanh(_atanh(center - step) - reach), math.tanh(_atanh(center + step) + reach))
        low, high = ((1 + end) / 2 if is_share else end for end in ends)
    return Interval(
        score=value, low=low, high=high, level=level, samples=0, seed=0, method=method, units="systems"
    )


def build_interval_cell(interval: Interval) -> Cell:
    """Return the cell of a coefficient, without brackets if it has no interval."""
    if math.isnan(interval.low):
        return Cell(value=interval.score)
    return Cell(value=interval.score, low=interval.low, high=interval.high)


def list_interval_notes(intervals: Iterable[Interval]) -> list[str]:
    """Return footnotes with the methods of the intervals and their units."""
    known = {each.description: each for each in intervals if not math.isnan(each.low)}
    notes = [f"In brackets: {'; '.join(known)}."] if known else []
    if any(math.isnan(each.low) for each in intervals):
        notes.append(
            f"With fewer than {FEWEST_SYSTEMS} systems ({FEWEST_FOR_TAU} for tau and accuracy), coefficients"
            " have no intervals."
        )
    return notes


def _atanh(value: float) -> float:
    return math.atanh(value) if abs(value) < 1 else math.copysign(math.inf, value)


def _pearson(value: float, systems: int) -> tuple[float, float]:  # noqa: ARG001
    return 1 / (systems - 3), 0.0


def _spearman(value: float, systems: int) -> tuple[float, float]:
    return (1 + value**2 / 2) / (systems - 3), 12 / (systems * (systems**2 - 1))


def _kendall(value: float, systems: int) -> tuple[float, float]:  # noqa: ARG001
    return 0.437 / (systems - 4), 4 / (systems * (systems - 1))


# Names, and functions of a coefficient and the number of systems: the variance and the effect of an exchange.
_METHODS = {
    "tau-b": ("Fieller", _kendall),
    "tau-c": ("Fieller", _kendall),
    "Spearman": ("Bonett-Wright", _spearman),
    "Pearson": ("Fisher", _pearson),
    "accuracy": ("Fieller", _kendall),
}
