"""Bootstrap of word agreement: the same resamples of images for all words and systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capeval.data.scores import FloatArray
from capeval.scoring.bootstrap import BootstrapScore, Interval
from capeval.scoring.resampling import draw_resamples
from capeval.studies.words.agreement import agreement_statistics, compute_agreement
from capeval.studies.words.counts import WordCounts, sum_groups
from capeval.studies.words.system_words import WordRanking

__all__ = ["WordResamples", "resample_words"]

# Sums of groups in resamples are computed in chunks of this many numbers (16 MB).
_CHUNK = 2_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class WordResamples:
    """Word agreement in bootstrap resamples of the images; NaN without images with the word.

    Attributes:
        recall: The human recall: one row per word, one column per resample.
        precision: The human precision, for each number of references.
        systems: The precision at human recall by system, with one row per compared word.
        images: The number of images.
        seed: The seed of the resamples.
    """

    recall: FloatArray
    precision: tuple[FloatArray, ...]
    systems: Mapping[str, FloatArray]
    images: int
    seed: int

    def interval(self, values: FloatArray, score: float, level: float) -> Interval:
        """Return the interval of the mean of words.

        Args:
            values: Rows of an array of this object.
            score: The mean in all images.
            level: The confidence level, between 0 and 1.
        """
        known = ~np.isnan(values)
        # A resample without a word leaves the means of the other words.
        numbers = known.sum(axis=0)
        means = np.where(known, values, 0).sum(axis=0)[numbers > 0] / numbers[numbers > 0]
        resampled = BootstrapScore(name="", score=score, values=means, seed=self.seed, units=self.images)
        return resampled.interval(level=level)


def resample_words(
    counts: WordCounts,
    references: Sequence[int],
    rankings: Mapping[str, Mapping[str, WordRanking]],
    *,
    samples: int,
    seed: int,
) -> WordResamples:
    """Measure word agreement in bootstrap resamples of the images.

    Args:
        counts: The number of captions with each word.
        references: The numbers of references.
        rankings: The rankings of each word, by system.
        samples: The number of resamples.
        seed: The seed of the resamples.
    """
    weights = _draw_weights(len(counts.image_ids), samples, seed)
    recall = np.empty((len(counts.words), samples))
    precision = tuple(np.empty_like(recall) for _ in references)
    for row in range(len(counts.words)):
        images, starts, statistics = agreement_statistics(counts, row, references)
        sums = sum_groups(weights, images, starts).T @ statistics
        recall[row], found = compute_agreement(sums, references)
        for values, each in zip(precision, found, strict=True):
            values[row] = each
    rows = {word: row for row, word in enumerate(counts.words)}
    systems = {
        name: np.array(
            [_resample_ranking(ranking, weights, recall[rows[word]]) for word, ranking in by_word.items()]
        )
        for name, by_word in rankings.items()
    }
    return WordResamples(
        recall=recall, precision=precision, systems=systems, images=len(counts.image_ids), seed=seed
    )


def _draw_weights(images: int, samples: int, seed: int) -> NDArray[np.uint8]:
    """Return the number of draws of each image: one row per image, one column per resample."""
    weights = np.empty((images, samples), dtype=np.uint8)
    start = 0
    for rows in draw_resamples(images, samples, seed):
        # A byte is enough: the probability of drawing an image 256 times is below 1e-500.
        weights[:, start : start + len(rows)] = rows.T
        start += len(rows)
    return weights


def _resample_ranking(ranking: WordRanking, weights: NDArray[np.uint8], recall: FloatArray) -> FloatArray:
    """Return the precision at human recall in each resample, in chunks that fit in memory."""
    step = max(1, _CHUNK // len(ranking.starts))
    parts = range(0, len(recall), step)
    return np.concatenate(
        [ranking.precision(weights[:, start : start + step], recall[start : start + step]) for start in parts]
    )
