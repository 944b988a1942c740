"""Comparisons of several systems, with p-values corrected for their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import isnan

from capeval.data.captions import ImageId
from capeval.errors import MismatchError
from capeval.scoring.bootstrap import SystemScores
from capeval.scoring.comparisons import Comparisons, Method
from capeval.scoring.paired_tests import PairedTests

__all__ = ["compare_systems", "correct_holm"]


def compare_systems(
    systems: Mapping[str, SystemScores],
    *,
    all_pairs: bool = False,
    method: Method = "randomization",
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    images: Iterable[ImageId] | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[tuple[str, str], Comparisons]:
    """Compare the first system with each of the others, or all pairs, with `compare`.

    The p-values of each score are corrected for the number of pairs (Holm 1979), but not for the number of
    scores: the scores of a system measure the same captions, and are not independent evidence.

    Args:
        systems: The scores of at least two systems by name, with the same references, metrics and options.
        all_pairs: Whether to compare all pairs of systems.
        method: `randomization` or `bootstrap`.
        samples: The number of resamples.
        level: The confidence level of intervals, between 0 and 1; differences are significant if the
            corrected p-value is at most 1 minus the level.
        seed: The seed of the resamples; the same seed gives the same numbers.
        images: The images to compare, such as a subset; all by default.
        progress: Called with a description of each pair before it is compared.

    Each system is resampled once. With more than two systems, the draws are stored, with two bytes per image
    and sample.

    Returns:
        The comparisons of each pair by the names of its systems.

    Raises:
        MismatchError: There are fewer than two systems, or their reports differ in images, references,
            metrics or options.
        OptionError: An option has an invalid value.

    Example:
        >>> from capeval import Evaluator
        >>> from capeval.scoring.multiple_comparisons import compare_systems
        >>> evaluator = Evaluator({1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}, ["ROUGE-1"])
        >>> candidates = {
        ...     "Ours": {1: "A red bus.", 2: "Two cats.", 3: "A dog."},
        ...     "Baseline": {1: "A bus.", 2: "Cats.", 3: "A cat."},
        ...     "Random": {1: "People.", 2: "People.", 3: "People."},
        ... }
        >>> systems = {name: evaluator.evaluate(each) for name, each in candidates.items()}
        >>> for pair, comparisons in compare_systems(systems).items():
        ...     print(pair, comparisons["ROUGE-1"].p_value, comparisons["ROUGE-1"].corrected_p_value)
        ('Ours', 'Baseline') 0.25 0.5
        ('Ours', 'Random') 0.25 0.5
    """
    if len(systems) < 2:
        raise MismatchError(f"a comparison needs at least two systems (got {len(systems)})")
    tests = PairedTests(systems, method=method, samples=samples, level=level, seed=seed, images=images)
    first, *others = systems
    pairs = list(combinations(systems, 2)) if all_pairs else [(first, other) for other in others]
    found = {}
    for a, b in pairs:
        if progress is not None:
            progress(f"Comparing {a} and {b}")
        found[a, b] = tests.compare(a, b)
    for name in found[pairs[0]]:
        corrected = correct_holm([found[pair][name].p_value for pair in pairs])
        for pair, p_value in zip(pairs, corrected, strict=True):
            found[pair][name] = replace(found[pair][name], corrected_p_value=p_value)
    return found


def correct_holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's step-down method (Holm 1979).

    The probability of any significant result is at most the level if no two systems differ. NaN stays NaN,
    and does not count.

    Example:
        >>> from capeval.scoring.multiple_comparisons import correct_holm
        >>> [round(p_value, 3) for p_value in correct_holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    corrected = list(p_values)
    known = sorted((each, place) for place, each in enumerate(p_values) if not isnan(each))
    largest = 0.0
    for rank, (p_value, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p_value))
        corrected[place] = largest
    return corrected
