"""Counts of captions with each word, by image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from capeval.data.captions import ImageId, References, ReferencesLike
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, OptionError
from capeval.tokenizers import TokenizedReferences, Tokenizer

__all__ = [
    "WordCounts",
    "group_images",
    "probability_of_none",
    "require_captions",
    "sum_groups",
    "word_counts",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class WordCounts:
    """Number of captions with each word, by image.

    Attributes:
        image_ids: The images.
        captions: The number of captions of each image.
        words: The words, most frequent first; ties in alphabetical order.
        counts: The number of captions with the word: one row per word, one column per image.
        others: The words of the captions that are not counted, such as rarer ones.
    """

    image_ids: tuple[ImageId, ...]
    captions: NDArray[np.int64]
    words: tuple[str, ...]
    counts: NDArray[np.uint8]
    others: frozenset[str] = field(default=frozenset(), repr=False)


def word_counts(
    captions: ReferencesLike,
    words: int | Sequence[str],
    *,
    tokenizer: Tokenizer | None = None,
) -> WordCounts:
    """Count the captions with each word.

    Args:
        captions: The captions of each image.
        words: The words, or the number of the most frequent tokens.
        tokenizer: The tokenizer; the reference tokenizer by default.

    Raises:
        MismatchError: A word never occurs, or an image has 256 captions or more.
        OptionError: There are no words, or a word occurs twice.

    Example:
        >>> from capeval.studies.words import word_counts
        >>> captions = {1: ["A dog runs.", "A brown dog."], 2: ["A dog and a cat.", "A cat sleeps."]}
        >>> counts = word_counts(captions, ["cat", "dog"])
        >>> dict(zip(counts.words, counts.counts.tolist()))
        {'dog': [2, 1], 'cat': [0, 2]}
    """
    captions = References(captions)
    if int(captions.counts.max()) > 255:
        raise MismatchError(f"an image must have at most 255 captions (got {int(captions.counts.max())})")
    tokens = TokenizedReferences(captions, tokenizer)
    texts = [[text.split() for text in tokens.native.of(position)] for position in range(len(tokens))]
    frequency = Counter(word for group in texts for text in group for word in text)
    chosen = _select_words(words, frequency)
    rows = {word: row for row, word in enumerate(chosen)}
    counts = np.zeros((len(chosen), len(texts)), dtype=np.uint8)
    for image, group in enumerate(texts):
        having = Counter(word for text in group for word in set(text) & rows.keys())
        counts[[rows[word] for word in having], image] = list(having.values())
    return WordCounts(
        image_ids=captions.image_ids,
        captions=captions.counts,
        words=tuple(chosen),
        counts=counts,
        others=frozenset(frequency.keys() - rows.keys()),
    )


def _select_words(words: int | Sequence[str], frequency: Counter[str]) -> list[str]:
    if isinstance(words, int):
        if words < 1 or isinstance(words, bool):
            raise OptionError(f"'words' must be at least 1 (got {words!r})")
        return sorted(frequency, key=lambda word: (-frequency[word], word))[:words]
    if isinstance(words, str) or not words or len(set(words)) < len(words):
        raise OptionError("'words' must be a non-empty list without duplicates")
    missing = [word for word in words if not frequency[word]]
    if missing:
        raise MismatchError(f"every word must occur in the captions ({missing[0]!r} does not)")
    return sorted(words, key=lambda word: (-frequency[word], word))


def group_images(
    counts: WordCounts, row: int, images: NDArray[np.intp], blocks: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Group images of a block with equally many captions, and captions with a word.

    Args:
        counts: The number of captions with each word.
        row: The row of the word.
        images: The columns of the images.
        blocks: The number of each image's block; None for a single block.

    Returns:
        The columns of the images in the order of blocks and groups, and the start of each group.
    """
    keys = [counts.captions[images], counts.counts[row, images]]
    keys += [] if blocks is None else [blocks]
    order = np.lexsort(keys)
    is_new = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    return images[order], np.flatnonzero(np.concatenate([[True], is_new]))


def sum_groups(weights: NDArray[np.uint8], images: NDArray[np.intp], starts: NDArray[np.intp]) -> FloatArray:
    """Return the sum of weights in each group of images: one row per group, one column per sample.

    Args:
        weights: The number of draws of each image: one row per image, one column per sample.
        images: The columns of the images, in the order of the groups.
        starts: The start of each group.
    """
    sums: FloatArray = np.add.reduceat(weights[images], starts, axis=0, dtype=np.float64)
    return sums


def probability_of_none(k: int, among: FloatArray | NDArray[np.int64], without: FloatArray) -> FloatArray:
    """Return the probability that none of k captions drawn from `among` has the word.

    `without` is the number of captions without the word.
    """
    chance = np.ones(len(without))
    for drawn in range(k):
        chance *= np.clip(without - drawn, 0, None) / (among - drawn)
    return chance


def require_captions(counts: WordCounts, captions: int) -> None:
    """Check that every image has enough captions.

    Raises:
        MismatchError: An image has fewer captions.
    """
    few = np.flatnonzero(counts.captions < captions)
    if few.size:
        image, found = counts.image_ids[few[0]], counts.captions[few[0]]
        raise MismatchError(
            f"every image must have at least {captions} captions (got {found} for image {image!r})"
        )
