"""Scores of judged captions, also with different references for captions of one image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from capeval.data.captions import ImageId, References
from capeval.data.scores import FloatArray
from capeval.metrics.base import Metric
from capeval.studies.shared.caption_scores import score_captions
from capeval.studies.shared.frequencies import FrequencySource
from capeval.tokenizers import TokenizedReferences

__all__ = ["get_signs", "score_judged"]


def score_judged(
    image_ids: Sequence[ImageId],
    captions: Sequence[str],
    references: Sequence[tuple[str, ...]],
    metrics: Sequence[Metric],
    frequencies: FrequencySource,
) -> dict[str, FloatArray]:
    """Return the score of each caption, by the score's name.

    Metrics receive the image ids of the benchmark. Captions of one image with different references are
    scored in several rounds; document frequencies are always those of all captions.
    """
    rounds = _split_rounds(image_ids, references)
    if len(rounds) > 1:
        metrics, frequencies = _count_first(image_ids, references, metrics, frequencies), "references"
    scores = {name: np.zeros(len(captions)) for metric in metrics for name in metric.names}
    for rows, of_image in rounds:
        scored = score_captions(
            of_image,
            [image_ids[row] for row in rows],
            [captions[row] for row in rows],
            metrics,
            frequencies=frequencies,
        )
        for name, values in scored.per_caption.items():
            scores[name][rows] = values
    return scores


def _split_rounds(
    image_ids: Sequence[ImageId], references: Sequence[tuple[str, ...]]
) -> list[tuple[list[int], dict[ImageId, tuple[str, ...]]]]:
    """Return rows and their references by image; in each round, an image has one list of references."""
    rounds: list[tuple[list[int], dict[ImageId, tuple[str, ...]]]] = []
    place_of: dict[ImageId, dict[tuple[str, ...], int]] = {}
    for row, (image, texts) in enumerate(zip(image_ids, references, strict=True)):
        known = place_of.setdefault(image, {})
        place = known.setdefault(texts, len(known))
        if place == len(rounds):
            rounds.append(([], {}))
        rows, of_image = rounds[place]
        rows.append(row)
        of_image[image] = texts
    return rounds


def _count_first(
    image_ids: Sequence[ImageId],
    references: Sequence[tuple[str, ...]],
    metrics: Sequence[Metric],
    frequencies: FrequencySource,
) -> tuple[Metric, ...]:
    """Return the metrics with document frequencies of all captions' references."""
    if all(metric.frequency_unit is None for metric in metrics):
        return tuple(metrics)
    documents: dict[ImageId, dict[str, None]] = {}
    for row, (image, texts) in enumerate(zip(image_ids, references, strict=True)):
        documents.setdefault(row if frequencies == "ratings" else image, {}).update(dict.fromkeys(texts))
    corpus = TokenizedReferences(References({key: list(texts) for key, texts in documents.items()}))
    return tuple(metric.with_corpus(corpus, frequencies) for metric in metrics)


def get_signs(metrics: Sequence[Metric]) -> Mapping[str, int]:
    """Return 1 for scores that are better if higher, and -1 for the others, by name."""
    return {name: 1 if metric.higher_is_better else -1 for metric in metrics for name in metric.names}
