"""Metric scores of single captions, with several captions per image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from capeval.data.captions import Candidates, ImageId, References, ReferencesLike
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.metrics.base import Metric
from capeval.studies.shared.frequencies import FrequencySource
from capeval.studies.shared.words import check_scored
from capeval.tokenizers import TokenizedReferences, Tokenizer

__all__ = ["ScoredCaptions", "compute_caption_scores", "score_captions"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredCaptions:
    """Statistics of captions.

    Attributes:
        metrics: The metrics, with the document frequencies in use.
        statistics: The statistics of each metric, one row per caption.
    """

    metrics: tuple[Metric, ...]
    statistics: tuple[FloatArray, ...] = field(repr=False)

    @property
    def per_caption(self) -> dict[str, FloatArray]:
        """The score of each caption, by the score's name."""
        return compute_caption_scores(self.metrics, self.statistics)


def compute_caption_scores(
    metrics: Sequence[Metric], statistics: Sequence[FloatArray]
) -> dict[str, FloatArray]:
    """Return the score of each row of statistics, by the score's name."""
    return {
        name: scores[:, place]
        for metric, rows in zip(metrics, statistics, strict=True)
        for scores in [metric.aggregate(rows)]
        for place, name in enumerate(metric.names)
    }


def score_captions(
    references: ReferencesLike,
    image_ids: Sequence[ImageId],
    captions: Sequence[str],
    metrics: Sequence[Metric],
    *,
    frequencies: FrequencySource,
    tokenizer: Tokenizer | None = None,
) -> ScoredCaptions:
    """Score captions, any number per image.

    Args:
        references: The references of the images; other images are ignored.
        image_ids: The image of each caption.
        captions: The captions.
        metrics: The metrics.
        frequencies: The references in which CIDEr and CIDEr-D count document frequencies, unless they have
            precomputed ones: `ratings` counts references once for each caption, `references` once for each
            image.
        tokenizer: The tokenizer; the reference tokenizer by default.

    Raises:
        CaptionError: `references` does not map images to captions.
        MismatchError: An image has no references, or a caption has no score.
    """
    references = References(references)
    rows: dict[ImageId, list[int]] = {}
    for row, image in enumerate(image_ids):
        rows.setdefault(image, []).append(row)
    unknown = [image for image in rows if image not in references]
    if unknown:
        raise MismatchError(f"rated image {unknown[0]!r} has no references ({len(unknown):,} such images)")
    tokens = TokenizedReferences(references.select(rows), tokenizer)
    candidates = tokens.candidates(
        Candidates({image: [captions[row] for row in members] for image, members in rows.items()})
    )
    used = tuple(metrics)
    if frequencies == "ratings":
        used = _count_over_captions(used, tokens, list(rows), image_ids)
    order = np.argsort([row for members in rows.values() for row in members])
    scored = ScoredCaptions(
        metrics=used, statistics=tuple(each.prepare(tokens).statistics(candidates)[order] for each in used)
    )
    check_scored(scored.per_caption)
    return scored


def _count_over_captions(
    metrics: tuple[Metric, ...],
    tokens: TokenizedReferences,
    images: Sequence[ImageId],
    image_ids: Sequence[ImageId],
) -> tuple[Metric, ...]:
    """Return the metrics, with document frequencies counted once for each caption."""
    if all(metric.frequency_unit is None for metric in metrics):
        return metrics
    texts = {image: tokens.native.of(position) for position, image in enumerate(images)}
    documents = References({row: texts[image] for row, image in enumerate(image_ids)})
    repeated = TokenizedReferences(documents, Tokenizer(kind="none"))
    return tuple(metric.with_corpus(repeated, "ratings") for metric in metrics)
