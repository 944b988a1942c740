"""Scores of the same captions with several reference sets (Chen et al. 2015, Table 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from capeval.data.captions import Candidates, References
from capeval.datasets.building import name_references
from capeval.errors import MismatchError
from capeval.errors.messages import format_images
from capeval.metrics.base import Metric
from capeval.metrics.registry import DEFAULT
from capeval.scoring.evaluator import Evaluator

__all__ = ["score_reference_sets"]


def score_reference_sets(
    sets: Iterable[References],
    systems: Mapping[str, Candidates],
    metrics: Iterable[str | Metric] = DEFAULT,
    *,
    progress: Callable[[str], object] = lambda _: None,
) -> list[dict[str, dict[str, float]]]:
    """Score captions with each reference set, on the images of the set.

    COCO's server scored results in this way with c5, all images of the test set, and with c40, 5,000 of them.

    Args:
        sets: The reference sets.
        systems: The captions of each system, or of people, by name.
        metrics: Names or metric objects.
        progress: Called with a description of the next step, once for each set.

    Returns:
        For each set, the scores by system and name of the score.

    Raises:
        MismatchError: A system has no caption for an image of a set.
        OptionError: A metric is unknown.

    Example:
        >>> from capeval import Candidates, References
        >>> from capeval.studies.human.reference_sets import score_reference_sets
        >>> few = References({1: ["a dog runs"], 2: ["two cats"]})
        >>> many = References({1: ["a dog runs", "a brown dog"]})
        >>> people = Candidates({1: "a brown dog runs", 2: "two cats"})
        >>> score_reference_sets([few, many], {"Human": people}, ["ROUGE-1"])
        [{'Human': {'ROUGE-1': 1.0}}, {'Human': {'ROUGE-1': 1.0}}]
    """
    chosen = tuple(metrics)
    scores = []
    for references in sets:
        progress(f"Scoring with {name_references(references)}")
        evaluator = Evaluator(references, chosen)
        found = {}
        for name, candidates in systems.items():
            missing = [image for image in references if image not in candidates]
            if missing:
                raise MismatchError(f"{name}: {format_images(missing)} missing a caption")
            found[name] = dict(evaluator.evaluate(candidates.select(references.image_ids)).corpus)
        scores.append(found)
    return scores
