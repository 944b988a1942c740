"""Accuracy of metrics by class of pairs and by number of references (CIDEr paper, Figure 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from capeval.studies.consensus.options import ConsensusOptions
from capeval.studies.shared.accuracy import (
    Accuracy,
    AccuracyOverDraws,
    combine_draws,
    compute_accuracy_by_class,
)
from capeval.studies.shared.checkpoints import StudyCheckpoint
from capeval.studies.shared.pair_scores import PairScorer
from capeval.studies.shared.ties import TieRules

__all__ = ["accuracy_by_references", "compute_accuracies"]


def compute_accuracies(
    differences: Mapping[str, NDArray[np.generic]],
    truth: NDArray[np.generic],
    kinds: Sequence[str | None],
    rules: TieRules,
) -> dict[str, dict[str, Accuracy]]:
    """Return the accuracy of each metric on each class of pairs, by metric and class."""
    return {
        metric: compute_accuracy_by_class(values, truth, kinds, rules)
        for metric, values in differences.items()
    }


def accuracy_by_references(
    scorer: PairScorer,
    truth: NDArray[np.generic],
    options: ConsensusOptions,
    *,
    checkpoint: StudyCheckpoint | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> dict[str, dict[str, tuple[AccuracyOverDraws, ...]]]:
    """Return the accuracy of each metric by number of references (Figure 3).

    Args:
        scorer: The pairs.
        truth: The human choice for each pair.
        options: The numbers of references, the draws of each, and the rules for ties. The seed belongs to the
            first draw, and each further draw uses the next seed.
        checkpoint: The checkpoint of finished draws; in memory only by default.
        progress: Called with a description of the next step.

    Returns:
        The accuracy for each of `options.counts`, by class (and `all`) and metric; empty without counts.

    Raises:
        MismatchError: There are fewer references, or the number of winners differs from the number of pairs.

    Example:
        >>> import numpy as np
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.consensus import ConsensusOptions, accuracy_by_references
        >>> from capeval.studies.shared.pair_scores import PairScorer
        >>> dog = ("The dog is running.", "A dog runs on grass.")
        >>> cat = ("A cat sleeps on a bed.", "A cat on a bed.")
        >>> pairs = [
        ...     Pair(image=1, first="A dog runs.", second="A dog sits.", references=dog),
        ...     Pair(image=2, first="Two cats sleep.", second="A cat.", references=cat),
        ... ]
        >>> options = ConsensusOptions(counts=(1, 2), draws=3)
        >>> curves = accuracy_by_references(PairScorer(pairs), np.array([1, -1]), options)
        >>> [round(point.mean, 3) for point in curves["all"]["ROUGE-1"]]  # With 1 and 2 references
        [0.667, 1.0]
    """
    checkpoint = checkpoint or StudyCheckpoint(None, "")
    kinds = [pair.kind for pair in scorer.pairs]

    def draw(count: int, number: int) -> dict[str, dict[str, dict[str, float]]]:
        seed = options.seed + number
        differences = scorer.differences(scorer.draw(count, seed=seed))
        accuracies = compute_accuracies(differences, truth, kinds, replace(options.tie_rules, seed=seed))
        return {
            name: {kind: asdict(part) for kind, part in parts.items()} for name, parts in accuracies.items()
        }

    curves: dict[str, dict[str, list[AccuracyOverDraws]]] = {}
    for count in options.counts:
        parts_of_draws = []
        for number in range(options.draws):
            progress(f"{count} references, draw {number + 1} of {options.draws}")
            parts_of_draws.append(checkpoint.part(f"accuracy {count} {number}", partial(draw, count, number)))
        for name in scorer.names:
            for kind in parts_of_draws[0][name]:
                point = combine_draws([Accuracy(**part[name][kind]) for part in parts_of_draws])
                curves.setdefault(kind, {}).setdefault(name, []).append(point)
    return {
        kind: {name: tuple(points) for name, points in points_of.items()}
        for kind, points_of in curves.items()
    }
