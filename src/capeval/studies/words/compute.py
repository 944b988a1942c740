"""Word prediction agreement (Chen et al. 2015, section 4.2, Table II, Figure 3).

People tag an image with the words of their captions. One person's words are measured against the words of k
others. An image for which nobody else used the word has weight 1, and any other image has the number of
captions with the word as its weight. The paper draws the person and the k others once; here all numbers are
exact expectations over all such draws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from capeval._internal.validation import validate_integer
from capeval.data.captions import ImageId, References, ReferencesLike
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import format_images, format_names
from capeval.formats.word_classes import WORD_CLASSES, load_word_classes
from capeval.studies.words.options import WordsOptions
from capeval.tokenizers import TokenizedReferences, Tokenizer

__all__ = [
    "ClassMeans",
    "SystemAgreement",
    "SystemMeans",
    "WordAgreement",
    "WordCounts",
    "WordStudy",
    "WordsOptions",
    "class_means",
    "coco_word_classes",
    "human_agreement",
    "model_precision",
    "precision_at_recall",
    "study_words",
    "system_means",
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
class SystemAgreement:
    """Precision of a system's words at human recall.

    Attributes:
        precision: The precision of each compared word, in the order of the counted words.
        ignored: The words with scores that occur in the captions, but are not among the counted words.
    """

    precision: Mapping[str, float]
    ignored: tuple[str, ...]


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


@dataclass(frozen=True, kw_only=True)
class SystemMeans:
    """Means over the words of a class on which a system is compared.

    Attributes:
        words: The number of words.
        system: The system's precision at human recall.
        people: The human precision.
    """

    words: int
    system: float
    people: float


@dataclass(frozen=True, kw_only=True, eq=False)
class WordStudy:
    """Agreement of people on words, and of a system with people.

    Attributes:
        people: The human agreement with 1, 2, ... references.
        classes: The class of each classified word.
        system: The system's precision at human recall with the most references; None without a system.
    """

    people: tuple[WordAgreement, ...]
    classes: Mapping[str, str]
    system: SystemAgreement | None


def study_words(
    captions: ReferencesLike,
    classes: Mapping[str, str] | Callable[[Sequence[str]], Mapping[str, str]],
    options: WordsOptions = WordsOptions(),  # noqa: B008 - it is immutable.
    *,
    scores: Mapping[str, Mapping[ImageId, float]] | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> WordStudy:
    """Measure human agreement with 1 to N others on frequent words, and a system's.

    Args:
        captions: The captions of each image.
        classes: The classes of words, or a function that returns the classes of given words; words without a
            class are absent.
        options: The number of words, and N.
        scores: A system's scores, by word and image.
        progress: Called with a description of the next step, N + 1 times.

    Raises:
        MismatchError: An image has too few captions, or scores do not match the captions.

    Example:
        >>> from capeval.studies.words import WordsOptions, study_words
        >>> captions = {1: ["A dog runs.", "A brown dog."], 2: ["A dog and a cat.", "A cat sleeps."]}
        >>> study = study_words(captions, {"dog": "noun", "cat": "noun"}, WordsOptions(words=3, references=1))
        >>> [people] = study.people
        >>> dict(zip(people.words, people.recall.round(3).tolist()))
        {'a': 1.0, 'dog': 0.667, 'cat': 1.0}
    """
    progress("Counting words")
    counts = word_counts(captions, options.words)
    people = []
    for k in range(1, options.references + 1):
        progress(f"Agreement with {k} references")
        people.append(human_agreement(counts, k))
    system = None
    if scores is not None:
        recall = dict(zip(people[-1].words, people[-1].recall.tolist(), strict=True))
        system = precision_at_recall(counts, scores, recall, options.references)
    known = classes(counts.words) if callable(classes) else classes
    return WordStudy(people=tuple(people), classes=known, system=system)


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


def system_means(
    system: SystemAgreement, people: WordAgreement, classes: Mapping[str, str]
) -> dict[str, SystemMeans]:
    """Return the means over all compared words, and over those of each class, if any.

    Example:
        For each word, all captions of the system's best image contain it:

        >>> from capeval.studies.words import human_agreement, precision_at_recall, system_means, word_counts
        >>> captions = {1: ["A dog runs.", "A brown dog."], 2: ["A dog and a cat.", "A cat sleeps."]}
        >>> counts = word_counts(captions, ["dog", "cat"])
        >>> people = human_agreement(counts, references=1)
        >>> scores = {"dog": {1: 0.9, 2: 0.6}, "cat": {2: 0.8}}
        >>> system = precision_at_recall(counts, scores, dict(zip(people.words, people.recall)), references=1)
        >>> means = system_means(system, people, {"dog": "noun", "cat": "noun"})["noun"]
        >>> means.words, means.system, round(means.people, 3)
        (2, 1.0, 0.833)
    """
    human = dict(zip(people.words, people.precision.tolist(), strict=True))
    means = {}
    for name in ("all", *WORD_CLASSES):
        words = [word for word in system.precision if name in ("all", classes.get(word))]
        if words:
            means[name] = SystemMeans(
                words=len(words),
                system=float(np.mean([system.precision[word] for word in words])),
                people=float(np.mean([human[word] for word in words])),
            )
    return means


def coco_word_classes() -> dict[str, str]:
    """Return the classes of COCO's most frequent words.

    Classes are `noun`, `verb` or `adjective`, by WordNet 3.0's tag counts.

    Example:
        >>> from capeval.studies.words import coco_word_classes
        >>> classes = coco_word_classes()
        >>> classes["dog"], classes["riding"], classes["red"], "a" in classes
        ('noun', 'verb', 'adjective', False)
    """
    return load_word_classes(Path(__file__).with_name("word_classes.tsv"))


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
    _require_captions(counts, k + 1)
    precision, recall = np.empty(len(counts.words)), np.empty(len(counts.words))
    for row, weight, captions, having in _group_images(counts):
        part = having / captions
        true = weight @ (part * k * (having - 1) / (captions - 1))
        false = weight @ (part * _probability_of_none(k, captions - 1, captions - having))
        precision[row] = true / (true + false)
        recall[row] = true / (weight @ (k * part))
    return WordAgreement(words=counts.words, references=k, precision=precision, recall=recall)


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


def precision_at_recall(
    counts: WordCounts,
    scores: Mapping[str, Mapping[ImageId, float]],
    recall: Mapping[str, float],
    references: int,
) -> SystemAgreement:
    """Return a system's precision for each word at human recall (PHR).

    A word's images are taken by descending score, equal scores together, until the weighted recall reaches
    the human recall; images without a score come last. Weights are the same as for people: `k c / m` for the
    positives, and for an image as negative the probability that none of k captions contains the word.

    Args:
        counts: The number of captions with each word.
        scores: Word to image to score; higher scores are more confident. Words of the captions that are not
            counted are ignored, and listed in the result.
        recall: Word to target recall, such as the human recall.
        references: k.

    Raises:
        MismatchError: A word with scores never occurs in the captions, no word with scores is counted, a word
            has no target recall, an image has no captions or too few, or a score is not finite.
        OptionError: `references` is below 1.

    Example:
        The recall 1 requires images 1, 3 and 2. Their true positives weigh 1 + 0 + 1/2, and their false
        positives 0 + 1 + 1/2:

        >>> from capeval.studies.words import precision_at_recall, word_counts
        >>> captions = {1: ["A dog runs.", "A dog."], 2: ["A dog and cat.", "A cat."], 3: ["A bus.", "Cars."]}
        >>> counts = word_counts(captions, ["dog"])
        >>> scores = {"dog": {1: 0.9, 2: 0.6, 3: 0.7}}
        >>> precision_at_recall(counts, scores, recall={"dog": 1.0}, references=1).precision
        {'dog': 0.5}
    """
    k = validate_integer("references", references, 1)
    _require_captions(counts, k)
    columns = {image: column for column, image in enumerate(counts.image_ids)}
    ignored = _find_ignored(counts, scores)
    result = {}
    for row, word in enumerate(counts.words):
        if word not in scores:
            continue
        if word not in recall:
            raise MismatchError(f"every word with scores must have a target recall (got none for {word!r})")
        ranking = _build_ranking(word, scores[word], columns)
        having = counts.counts[row].astype(np.float64)
        positive = k * having / counts.captions
        negative = _probability_of_none(k, counts.captions, counts.captions - having)
        result[word] = _compute_precision(ranking, positive, negative, recall[word])
    return SystemAgreement(precision=result, ignored=ignored)


def _find_ignored(counts: WordCounts, scores: Mapping[str, Mapping[ImageId, float]]) -> tuple[str, ...]:
    """Return the words with scores that are not counted.

    All of them must occur in the captions.
    """
    counted = set(counts.words)
    uncounted = [word for word in scores if word not in counted]
    unknown = [word for word in uncounted if word not in counts.others]
    if unknown:
        raise MismatchError(
            "every word with scores must occur in the captions"
            f" ({len(unknown):,} of {len(scores):,} do not: {format_names(unknown)})"
        )
    if len(uncounted) == len(scores):
        raise MismatchError(
            f"at least one counted word must have scores (got scores only for {format_names(uncounted)})"
        )
    return tuple(uncounted)


def _build_ranking(word: str, scores: Mapping[ImageId, float], columns: Mapping[ImageId, int]) -> FloatArray:
    """Return a score for each image; minus infinity for images without a score."""
    unknown = [image for image in scores if image not in columns]
    if unknown:
        raise MismatchError(
            f"scores of {word!r}: {format_images(unknown)} not among the images with captions"
        )
    ranking = np.full(len(columns), -np.inf)
    ranking[[columns[image] for image in scores]] = list(scores.values())
    if np.isnan(ranking).any() or np.isposinf(ranking).any():
        raise MismatchError(f"scores of {word!r} must be finite numbers")
    return ranking


def _compute_precision(
    ranking: FloatArray, positive: FloatArray, negative: FloatArray, recall: float
) -> float:
    order = np.argsort(-ranking, kind="stable")
    ranked = ranking[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    true, false = (np.cumsum(weights[order])[ends] for weights in (positive, negative))
    # With the tolerance, rounding can't prevent the last end from being reached.
    reached = np.flatnonzero(true >= recall * true[-1] * (1 - 1e-12))[0]
    return float(true[reached] / (true[reached] + false[reached]))


def _group_images(
    counts: WordCounts,
) -> list[tuple[int, FloatArray, FloatArray, FloatArray]]:
    """Return the images of each word, grouped by captions and captions with the word.

    Returns:
        The word's row, and the number of images, of captions and of captions with the word in each group.
    """
    most = int(counts.captions.max()) + 1
    patterns: list[tuple[int, FloatArray, FloatArray, FloatArray]] = []
    for row, having in enumerate(counts.counts):
        keys, times = np.unique(counts.captions * most + having, return_counts=True)
        present = keys % most > 0
        captions, with_word = np.divmod(keys[present].astype(np.float64), most)
        patterns.append((row, times[present].astype(np.float64), captions, with_word))
    return patterns


def _probability_of_none(k: int, among: FloatArray | NDArray[np.int64], without: FloatArray) -> FloatArray:
    """Return the probability that none of k captions drawn from `among` has the word.

    `without` is the number of captions without the word.
    """
    chance = np.ones(len(without))
    for drawn in range(k):
        chance *= np.clip(without - drawn, 0, None) / (among - drawn)
    return chance


def _require_captions(counts: WordCounts, captions: int) -> None:
    few = np.flatnonzero(counts.captions < captions)
    if few.size:
        image, found = counts.image_ids[few[0]], counts.captions[few[0]]
        raise MismatchError(
            f"every image must have at least {captions} captions (got {found} for image {image!r})"
        )
