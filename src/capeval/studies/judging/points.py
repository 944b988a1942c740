"""Points of COCO's 2015 challenge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from capeval.errors import MismatchError, OptionError

__all__ = ["HUMAN", "RANDOM", "Standing", "leaderboard_points"]

HUMAN, RANDOM = "Human", "Random"
"""The rows of every campaign that are not systems: people's captions, and captions of other images."""

_MAX_POINTS = 5


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Place of a system by the points of COCO's 2015 challenge.

    Attributes:
        system: The system.
        points: Its points by M1 and by M2.
        total: Their sum.
        place: Its place; systems with equal points share a place.
    """

    system: str
    points: Mapping[str, int]
    total: int
    place: int


def leaderboard_points(
    columns: Mapping[str, Mapping[str, float]], *, without: Sequence[str] = (HUMAN, RANDOM)
) -> tuple[Standing, ...]:
    """Return the points of COCO's 2015 challenge.

    The best five systems by M1, and by M2, get 5, 4, 3, 2 and 1 points. Systems with equal values get the
    points of the best of their places.

    Args:
        columns: The value of each system by question, M1 and M2.
        without: The rows that get no points.

    Returns:
        All systems, sorted by descending points and then by name.

    Raises:
        OptionError: The questions are not M1 and M2.
        MismatchError: The questions have different systems.

    Example:
        >>> from capeval.studies.judging import leaderboard_points
        >>> m1 = {"Human": 0.6, "transformer": 0.3, "lstm": 0.2, "template": 0.1}
        >>> m2 = {"Human": 0.7, "transformer": 0.3, "lstm": 0.3, "template": 0.1}
        >>> standings = leaderboard_points({"M1": m1, "M2": m2})
        >>> [(each.place, each.system, each.total) for each in standings]
        [(1, 'transformer', 10), (2, 'lstm', 9), (3, 'template', 6)]
    """
    if set(columns) != {"M1", "M2"}:
        raise OptionError(f"'columns' must be M1 and M2 (got {', '.join(columns) or 'none'})")
    if set(columns["M1"]) != set(columns["M2"]):
        raise MismatchError("M1 and M2 must have the same systems")
    systems = [name for name in columns["M1"] if name not in without]
    points = {
        name: {question: _compute_points(columns[question], name, systems) for question in ("M1", "M2")}
        for name in systems
    }
    totals = {name: sum(each.values()) for name, each in points.items()}
    return tuple(
        Standing(
            system=name,
            points=points[name],
            total=totals[name],
            place=1 + sum(other > totals[name] for other in totals.values()),
        )
        for name in sorted(systems, key=lambda name: (-totals[name], name))
    )


def _compute_points(values: Mapping[str, float], name: str, systems: Sequence[str]) -> int:
    better = sum(values[other] > values[name] for other in systems)
    return max(0, _MAX_POINTS - better)
