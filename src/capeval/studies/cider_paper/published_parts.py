"""Published numbers of the CIDEr paper next to computed ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from capeval.datasets.published.cider import load_cider_text
from capeval.studies.shared.accuracy import AccuracyOverDraws
from capeval.studies.shared.papers import PaperValue

__all__ = ["build_drawn_value", "build_value", "join_numbers"]


def build_value(
    part: str, quantity: str, computed: float | None, *, tolerance: float | None = None
) -> PaperValue:
    """Return a number of the paper's text and the computed one."""
    printed = load_cider_text()[part, quantity]
    return PaperValue(
        name=quantity,
        published=float(printed),
        computed=computed,
        digits=len(printed.partition(".")[2]),
        tolerance=tolerance,
    )


def build_drawn_value(part: str, quantity: str, point: AccuracyOverDraws, *, scale: float = 1) -> PaperValue:
    """Return a number that depends on random draws.

    The tolerance is the distance to the farthest draw, unless rounding allows a larger difference.
    """
    reach = scale * max(point.highest - point.mean, point.mean - point.lowest)
    value = build_value(part, quantity, scale * point.mean)
    rounding = 0.5 * 10**-value.digits
    return replace(value, tolerance=reach) if reach > rounding else value


def join_numbers(numbers: Mapping[str, float], digits: int = 1) -> str:
    """Return a list such as `CIDEr-2015 83.7, METEOR 82.4`."""
    return ", ".join(f"{name} {number:.{digits}f}" for name, number in numbers.items())
