"""Agreement of systems with people on words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from capeval._internal.validation import validate_integer
from capeval.data.captions import Candidates, ImageId
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.errors.messages import (
    describe_image_mismatch,
    describe_several_candidates,
    format_images,
    format_names,
)
from capeval.formats.word_classes import WORD_CLASSES
from capeval.studies.words.agreement import WordAgreement
from capeval.studies.words.counts import (
    WordCounts,
    group_images,
    probability_of_none,
    require_captions,
    sum_groups,
)
from capeval.tokenizers import Tokenizer, tokenize

__all__ = [
    "SystemAgreement",
    "SystemMeans",
    "WordRanking",
    "WordScores",
    "precision_at_recall",
    "system_means",
]

_ROUNDING = 1e-12


WordScores = Mapping[str, Mapping[ImageId, float]]
"""A system's score of each image, by word; higher scores are more confident."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WordRanking:
    """The images of a word by a system's score; images with equal scores form a block.

    Images without a score are the last block. Those of them without the word in their captions are not
    listed: each is a false positive of weight 1. Within a block, images of equal weights form a group.

    Attributes:
        images: The columns of the listed images, by block and group.
        starts: The start of each group in the images.
        ends: The number of groups up to the end of each block.
        scored: The number of images with a score.
        positive: The weight of an image of each group as true positive.
        negative: The weight of an image of each group as false positive.
    """

    images: NDArray[np.intp]
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    scored: int
    positive: FloatArray
    negative: FloatArray

    def precision(self, weights: NDArray[np.uint8], recall: FloatArray) -> FloatArray:
        """Return the precision at a recall, for each of several samples of images.

        Args:
            weights: The number of draws of each image: one row per image, one column per sample. Each sample
                has as many draws as there are images.
            recall: The target recall of each sample.

        Returns:
            The precision of each sample; NaN without images with the word.
        """
        sums = sum_groups(weights, self.images, self.starts)
        number, true, false = (
            np.cumsum(sums * each[:, None], axis=0)[self.ends - 1]
            for each in (np.ones(len(sums)), self.positive, self.negative)
        )
        unlisted = len(weights) - number[-1]
        number[-1] += unlisted
        false[-1] += unlisted
        target = recall * true[-1]
        # With the tolerance, rounding can't prevent the last block from reaching the recall.
        block = ((true >= target * (1 - _ROUNDING)) & (number > 0)).argmax(axis=0)
        samples = np.arange(len(block))
        before = [np.where(block > 0, each[block - 1, samples], 0) for each in (number, true, false)]
        size, own_true, own_false = (
            each[block, samples] - start for each, start in zip((number, true, false), before, strict=True)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            wanted = np.ceil(np.nan_to_num((target - before[1]) / own_true * size) - _ROUNDING * size)
            part = np.clip(wanted, 1, size) / size
            positives = before[1] + part * own_true
            found: FloatArray = positives / (positives + before[2] + part * own_false)
        return np.where(true[-1] > 0, found, np.nan)


@dataclass(frozen=True, kw_only=True, eq=False)
class SystemAgreement:
    """Agreement of a system's words with people's.

    Attributes:
        precision: The precision at human recall of each compared word, in the order of the counted words.
        ignored: The words with scores that occur in the captions, but are not among the counted words.
        captions: For a system with captions, its own precision and recall, measured like a person's.
            Precision is NaN for a word that the system never uses.
        rankings: The images of each compared word by score.
    """

    precision: Mapping[str, float]
    ignored: tuple[str, ...] = ()
    captions: WordAgreement | None = None
    rankings: Mapping[str, WordRanking] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class SystemMeans:
    """Means over the words of a class on which a system is compared.

    Attributes:
        words: The number of words.
        system: The system's precision at human recall.
        people: The human precision.
        used: The number of words that a system with captions uses; None for a system with scores.
        recall: The recall of a system with captions; None for a system with scores.
    """

    words: int
    system: float
    people: float
    used: int | None = None
    recall: float | None = None


def precision_at_recall(
    counts: WordCounts,
    system: Candidates | WordScores,
    recall: Mapping[str, float],
    references: int,
    *,
    tokenizer: Tokenizer | None = None,
) -> SystemAgreement:
    """Return a system's precision for each word at human recall (PHR).

    A word's images are taken by descending score until the weighted recall reaches the human recall; images
    without a score come last. Images with equal scores are in random order: after each image, the true and
    false positives are the expectations over all orders (McSherry and Najork 2008). Weights are the same as
    for people: `k c / m` for the positives, and for an image as negative the probability that none of k
    captions contains the word.

    Args:
        counts: The number of captions with each word.
        system: Word to image to score; higher scores are more confident. Words of the captions that are not
            counted are ignored, and listed in the result. Or the system's captions: images with the word in
            their caption precede all others, and each counted word is compared.
        recall: Word to target recall, such as the human recall.
        references: k.
        tokenizer: The tokenizer of the system's captions; the reference tokenizer by default.

    Raises:
        MismatchError: A word with scores never occurs in the captions, no word with scores is counted, a word
            has no target recall, an image has no captions or too few, or a score is not finite. A system with
            captions has different images, or several captions of an image.
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

        A system with the caption "a dog" for image 1 only:

        >>> from capeval import Candidates
        >>> system = Candidates({1: "a dog", 2: "a cat", 3: "a bus"})
        >>> agreement = precision_at_recall(counts, system, recall={"dog": 0.6}, references=1)
        >>> agreement.precision, agreement.captions.recall.round(3).tolist()
        ({'dog': 1.0}, [0.667])
    """
    are_captions = isinstance(system, Candidates)
    scores = _score_captions(counts, system, tokenizer) if isinstance(system, Candidates) else system
    ignored = _find_ignored(counts, scores)
    rankings = _create_rankings(counts, scores, references)
    everything = np.ones((len(counts.image_ids), 1), dtype=np.uint8)
    precision = {}
    for word, ranking in rankings.items():
        if word not in recall:
            raise MismatchError(f"every word with scores must have a target recall (got none for {word!r})")
        precision[word] = float(ranking.precision(everything, np.array([recall[word]]))[0])
    return SystemAgreement(
        precision=precision,
        ignored=ignored,
        captions=_measure_captions(rankings, references) if are_captions else None,
        rankings=rankings,
    )


def _create_rankings(counts: WordCounts, scores: WordScores, references: int) -> dict[str, WordRanking]:
    """Return the ranking of images for each counted word with scores.

    Raises:
        MismatchError: An image has no captions or too few, or a score is not finite.
        OptionError: `references` is below 1.
    """
    k = validate_integer("references", references, 1)
    require_captions(counts, k)
    columns = {image: column for column, image in enumerate(counts.image_ids)}
    rankings = {}
    for row, word in enumerate(counts.words):
        if word in scores:
            rankings[word] = _rank_images(counts, row, *_sort_scores(word, scores[word], columns), k)
    return rankings


def _rank_images(
    counts: WordCounts, row: int, places: NDArray[np.intp], values: FloatArray, references: int
) -> WordRanking:
    """Return the ranking of images for a word.

    Args:
        counts: The number of captions with each word.
        row: The row of the word.
        places: The columns of the images with a score, by descending score.
        values: Their scores.
        references: k.
    """
    rest = np.setdiff1d(np.flatnonzero(counts.counts[row]), places)
    blocks = np.cumsum(np.concatenate([[False], values[1:] != values[:-1]]))[: len(places)]
    last = int(blocks[-1]) + 1 if len(places) else 0
    blocks = np.concatenate([blocks, np.full(len(rest), last)]).astype(np.intp)
    images, starts = group_images(counts, row, np.concatenate([places, rest]), blocks)
    first = images[starts]
    having, captions = counts.counts[row, first].astype(np.float64), counts.captions[first]
    return WordRanking(
        images=images,
        starts=starts,
        # The last block may have only unlisted images.
        ends=np.cumsum(np.bincount(np.sort(blocks)[starts], minlength=last + 1)),
        scored=len(places),
        positive=references * having / captions,
        negative=probability_of_none(references, captions, captions - having),
    )


def _find_ignored(counts: WordCounts, scores: WordScores) -> tuple[str, ...]:
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


def _sort_scores(
    word: str, scores: Mapping[ImageId, float], columns: Mapping[ImageId, int]
) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the columns of the images with a score, by descending score, and their scores."""
    unknown = [image for image in scores if image not in columns]
    if unknown:
        raise MismatchError(
            f"scores of {word!r}: {format_images(unknown)} not among the images with captions"
        )
    values = np.array(list(scores.values()), dtype=np.float64)
    if not np.isfinite(values).all():
        raise MismatchError(f"scores of {word!r} must be finite numbers")
    order = np.argsort(-values, kind="stable")
    places = np.array([columns[image] for image in scores], dtype=np.intp)
    return places[order], values[order]


def _measure_captions(rankings: Mapping[str, WordRanking], references: int) -> WordAgreement:
    """Return the precision and recall of the words of a system's captions, as if by a person."""
    found = np.full((2, len(rankings)), np.nan)
    for row, ranking in enumerate(rankings.values()):
        sizes = np.diff(ranking.starts, append=len(ranking.images))
        is_used = ranking.starts < ranking.scored
        true = sizes[is_used] @ ranking.positive[is_used]
        found[1, row] = true / (sizes @ ranking.positive)
        if ranking.scored:
            found[0, row] = true / (true + sizes[is_used] @ ranking.negative[is_used])
    return WordAgreement(words=tuple(rankings), references=references, precision=found[0], recall=found[1])


def _score_captions(
    counts: WordCounts, candidates: Candidates, tokenizer: Tokenizer | None
) -> dict[str, dict[ImageId, float]]:
    """Return the score 1 for each image with the word in its candidate, for each counted word.

    Raises:
        MismatchError: The images differ from those of the counts, or an image has several candidates.
    """
    problem = describe_image_mismatch(
        candidates.image_ids, counts.image_ids, "the captions of people", "a caption of the system"
    )
    if problem:
        raise MismatchError(problem)
    scores: dict[str, dict[ImageId, float]] = {word: {} for word in counts.words}
    texts = []
    for image, captions in candidates.items():
        if len(captions) > 1:
            raise MismatchError(describe_several_candidates(image, len(captions)))
        texts.append(captions[0])
    for image, tokens in zip(candidates, tokenize(texts, tokenizer), strict=True):
        for word in set(tokens) & scores.keys():
            scores[word][image] = 1.0
    return scores


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
        if not words:
            continue
        used = recall = None
        if system.captions is not None:
            recalls = dict(zip(system.captions.words, system.captions.recall.tolist(), strict=True))
            recall = float(np.mean([recalls[word] for word in words]))
            used = sum(system.rankings[word].scored > 0 for word in words)
        means[name] = SystemMeans(
            words=len(words),
            system=float(np.mean([system.precision[word] for word in words])),
            people=float(np.mean([human[word] for word in words])),
            used=used,
            recall=recall,
        )
    return means
