"""Agreement of people on words, and the paper's model of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capeval._internal.validation import validate_integer
from capeval.data.scores import FloatArray
from capeval.errors import OptionError
from capeval.formats.word_classes import WORD_CLASSES
from capeval.studies.words.counts import WordCounts, group_images, probability_of_none, require_captions

__all__ = [
    "ClassMeans",
    "WordAgreement",
    "agreement_statistics",
    "class_means",
    "compute_agreement",
    "human_agreement",
    "model_precision",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class WordAgreement:
    """Human precision and recall per word.

    Attributes:
        words: The words.
        references: The number k of captions that a person's words are measured against.
        precision: True positives divided by all positives, both weighted; one number per word.
        recall: True positives divided by the total weight of the images with the word: the estimate of p.
    """

    words: tuple[str, ...]
    references: int
    precision: FloatArray
    recall: FloatArray


@dataclass(frozen=True, kw_only=True)
class ClassMeans:
    """Means over the words of a class; None if it has no words.

    Attributes:
        words: The number of words.
        recall: The human recall.
        precision: The human precision.
        model_precision: The model's precision at that recall.
        distance: The distance between the human precision and the model's.
    """

    words: int
    recall: float | None
    precision: float | None
    model_precision: float | None
    distance: float | None


def human_agreement(counts: WordCounts, references: int) -> WordAgreement:
    """Return human precision and recall of each word, against captions by others.

    If c of an image's m captions contain the word, the expectations over all choices of a person and of k
    others are: weight `k c / m`; true positives `(c / m) k (c - 1) / (m - 1)`; false positives `c / m` times
    the probability that none of k among the `m - 1` others contains it.

    Args:
        counts: The number of captions with each word.
        references: k; every image must have k + 1 captions.

    Raises:
        MismatchError: An image has too few captions.
        OptionError: `references` is below 1.

    Example:
        Both captions of image 1 and one caption of image 2 contain "dog". Image 2 adds 1/2 to the false
        positives and to the total weight, so precision and recall are 1 / (1 + 1/2):

        >>> from capeval.studies.words import human_agreement, word_counts
        >>> captions = {1: ["A dog runs.", "A brown dog."], 2: ["A dog and a cat.", "A cat sleeps."]}
        >>> people = human_agreement(word_counts(captions, ["dog", "cat"]), references=1)
        >>> dict(zip(people.words, people.precision.round(3).tolist()))
        {'dog': 0.667, 'cat': 1.0}
        >>> dict(zip(people.words, people.recall.round(3).tolist()))
        {'dog': 0.667, 'cat': 1.0}
    """
    k = validate_integer("references", references, 1)
    require_captions(counts, k + 1)
    sums = []
    for row in range(len(counts.words)):
        images, starts, statistics = agreement_statistics(counts, row, (k,))
        sums.append(np.diff(starts, append=len(images)) @ statistics)
    recall, [precision] = compute_agreement(np.array(sums), (k,))
    return WordAgreement(words=counts.words, references=k, precision=precision, recall=recall)


def agreement_statistics(
    counts: WordCounts, row: int, references: Sequence[int]
) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
    """Return the statistics of human agreement on a word, for each group of images with the word.

    Args:
        counts: The number of captions with each word.
        row: The row of the word.
        references: Values of k.

    Returns:
        The columns of the images, the start of each group, and an array with one row per group: the weight
        and the true positives of an image, both divided by k, and its false positives for each k.
    """
    images, starts = group_images(counts, row, np.flatnonzero(counts.counts[row]))
    first = images[starts]
    captions, having = counts.captions[first], counts.counts[row, first].astype(np.float64)
    part = having / captions
    false = [part * probability_of_none(k, captions - 1, captions - having) for k in references]
    return images, starts, np.stack([part, part * (having - 1) / (captions - 1), *false], axis=-1)


def compute_agreement(sums: FloatArray, references: Sequence[int]) -> tuple[FloatArray, list[FloatArray]]:
    """Return recall, and precision for each k, from sums of `agreement_statistics`.

    The last axis of `sums` has the statistics. Without images with the word, recall and precision are NaN.
    """
    weight, true = sums[..., 0], sums[..., 1]
    with np.errstate(invalid="ignore"):
        precision = [k * true / (k * true + sums[..., 2 + place]) for place, k in enumerate(references)]
        return true / weight, precision


def model_precision(p: FloatArray, references: int) -> FloatArray:
    """Return the model's precision `p k / (p k + (1 - p)^k)` at the recall p.

    This is the model of section 4.2.

    Args:
        p: The probability that a person uses the word if its object is in the image, from 0 to 1.
        references: k, 1 or more.

    Raises:
        OptionError: An argument has an invalid value.

    Example:
        If half of the people use the word, precision with two references is 1 / (1 + 1/4):

        >>> import numpy as np
        >>> from capeval.studies.words import model_precision
        >>> model_precision(np.array([0.5, 1.0]), references=2).tolist()
        [0.8, 1.0]
    """
    k = validate_integer("references", references, 1)
    p = np.asarray(p, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise OptionError("'p' must be probabilities between 0 and 1")
    precision: FloatArray = p * k / (p * k + (1 - p) ** k)
    return precision


def class_means(people: WordAgreement, classes: Mapping[str, str]) -> dict[str, ClassMeans]:
    """Return the means over all words, and over the words of each class.

    Example:
        >>> from capeval.studies.words import class_means, human_agreement, word_counts
        >>> captions = {1: ["A dog runs.", "A brown dog."], 2: ["A dog and a cat.", "A cat sleeps."]}
        >>> people = human_agreement(word_counts(captions, ["dog", "cat"]), references=1)
        >>> nouns = class_means(people, {"dog": "noun", "cat": "noun"})["noun"]
        >>> nouns.words, round(nouns.recall, 3)
        (2, 0.833)
    """
    model = model_precision(people.recall, people.references)
    means = {}
    for name in ("all", *WORD_CLASSES):
        rows = [row for row, word in enumerate(people.words) if name in ("all", classes.get(word))]

        def mean(values: FloatArray, rows: list[int] = rows) -> float | None:
            return float(np.mean(values[rows])) if rows else None

        means[name] = ClassMeans(
            words=len(rows),
            recall=mean(people.recall),
            precision=mean(people.precision),
            model_precision=mean(model),
            distance=mean(np.abs(people.precision - model)),
        )
    return means
