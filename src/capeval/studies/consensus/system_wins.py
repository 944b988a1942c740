"""Fractions of wins of systems (CIDEr paper, Figure 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capeval.errors import MismatchError
from capeval.formats.judgments.plans import Pair
from capeval.scoring.bootstrap import Interval
from capeval.studies.shared.coefficients import compute_pearson_of_table, none_if_undefined
from capeval.studies.shared.system_intervals import compute_system_interval

__all__ = ["SystemWins", "balanced_fraction_of_wins", "compute_wins", "fraction_of_wins", "pearson"]


@dataclass(frozen=True, kw_only=True)
class SystemWins:
    """Fractions of wins of systems, by one kind of judgment or one metric.

    Attributes:
        fractions: The fraction of wins, by system.
        correlation: Pearson's correlation with the fractions by the first kind of judgment, which is the
            consensus if present, with its interval over systems; None if it is undefined.
    """

    fractions: Mapping[str, float]
    correlation: Interval | None


def compute_wins(
    pairs: Sequence[Pair], chosen: Mapping[str, NDArray[np.generic]], *, balanced: bool = False
) -> dict[str, SystemWins]:
    """Return the wins of machines against each other, by judgment and metric; none without such pairs.

    Args:
        pairs: The pairs.
        chosen: A number for each pair, above 0 if the first candidate wins, by judgment and metric.
        balanced: Whether all opponents of a system have the same weight.
    """
    machines = np.array([pair.kind == "MM" for pair in pairs])
    if not machines.any():
        return {}
    systems = [(pair.first_by or "", pair.second_by or "") for pair in pairs if pair.kind == "MM"]
    compute = balanced_fraction_of_wins if balanced else fraction_of_wins
    fractions = {name: compute(systems, values[machines]) for name, values in chosen.items()}
    first = next(iter(fractions))
    return {
        name: SystemWins(
            fractions=each,
            # The correlation of the first kind of judgment with itself is 1 by definition.
            correlation=None if name == first else _correlate(each, fractions[first]),
        )
        for name, each in fractions.items()
    }


def _correlate(a: Mapping[str, float], b: Mapping[str, float]) -> Interval | None:
    value = none_if_undefined(pearson, a, b)
    return None if value is None else compute_system_interval("Pearson", value, len(a))


def fraction_of_wins(systems: Sequence[tuple[str, str]], chosen: NDArray[np.generic]) -> dict[str, float]:
    """Return the fraction of wins of each system (Figure 4); a tie is half a win.

    Args:
        systems: The systems of the first and the second candidate of each pair.
        chosen: A number for each pair, above 0 if the first candidate wins, below 0 if the second wins.

    Raises:
        MismatchError: The number of winners differs from the number of pairs, or there are no pairs.

    Example:
        >>> import numpy as np
        >>> from capeval.studies.consensus import fraction_of_wins
        >>> systems = [("transformer", "lstm"), ("transformer", "template"), ("lstm", "template")]
        >>> fraction_of_wins(systems, np.array([1, 1, 0]))
        {'lstm': 0.25, 'template': 0.25, 'transformer': 1.0}
    """
    won = _list_wins(systems, chosen)
    return {
        system: float(np.mean([win for wins in against.values() for win in wins]))
        for system, against in won.items()
    }


def balanced_fraction_of_wins(
    systems: Sequence[tuple[str, str]], chosen: NDArray[np.generic]
) -> dict[str, float]:
    """Return the mean of each system's fractions of wins against each opponent; a tie is half a win.

    Unlike in `fraction_of_wins`, a frequent opponent has no more weight than a rare one.

    Args:
        systems: The systems of the first and the second candidate of each pair.
        chosen: A number for each pair, above 0 if the first candidate wins, below 0 if the second wins.

    Raises:
        MismatchError: The number of winners differs from the number of pairs, or there are no pairs.

    Example:
        The template loses three times against the transformer, and wins once against the LSTM:

        >>> import numpy as np
        >>> from capeval.studies.consensus import balanced_fraction_of_wins
        >>> systems = [("transformer", "template")] * 3 + [("lstm", "template")]
        >>> balanced_fraction_of_wins(systems, np.array([1, 1, 1, -1]))
        {'lstm': 0.0, 'template': 0.5, 'transformer': 1.0}
    """
    won = _list_wins(systems, chosen)
    return {
        system: float(np.mean([np.mean(wins) for wins in against.values()]))
        for system, against in won.items()
    }


def _list_wins(
    systems: Sequence[tuple[str, str]], chosen: NDArray[np.generic]
) -> dict[str, dict[str, list[float]]]:
    """Return the wins in each pair (0, 0.5 or 1), by system and opponent."""
    if len(systems) != len(chosen) or not systems:
        raise MismatchError(f"expected a winner for each of {len(systems)} pairs (got {len(chosen)})")
    won: dict[str, dict[str, list[float]]] = {}
    for (first, second), sign in zip(systems, np.sign(chosen.astype(float)).tolist(), strict=True):
        won.setdefault(first, {}).setdefault(second, []).append((1 + sign) / 2)
        won.setdefault(second, {}).setdefault(first, []).append((1 - sign) / 2)
    return dict(sorted(won.items()))


def pearson(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Return Pearson's correlation between two fractions of wins, over systems.

    Raises:
        MismatchError: The systems differ, there are fewer than two, or all fractions are equal.

    Example:
        >>> from capeval.studies.consensus import pearson
        >>> people = {"transformer": 0.9, "lstm": 0.5, "template": 0.1}
        >>> metric = {"transformer": 0.7, "lstm": 0.6, "template": 0.2}
        >>> round(pearson(people, metric), 3)
        0.945
    """
    if set(a) != set(b) or len(a) < 2:
        raise MismatchError("a correlation needs at least two systems, the same in both")
    pairs = np.array([[a[system], b[system]] for system in a])
    if not pairs.std(axis=0).all():
        raise MismatchError("a correlation needs different fractions")
    return compute_pearson_of_table(np.eye(len(pairs)), *pairs.T)
