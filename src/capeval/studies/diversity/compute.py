"""Diversity of captions and images (nocaps, section 3.2, Table 1 and Figure 2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from capeval._internal.random import make_generator
from capeval.data.captions import References
from capeval.data.scores import FloatArray
from capeval.datasets.coco_objects import Objects
from capeval.errors import MismatchError
from capeval.studies.diversity.options import COLLECTED, DiversityOptions
from capeval.tokenizers import Tokenizer, tokenize

__all__ = [
    "COLLECTED",
    "ORDERS",
    "Corpus",
    "Diversity",
    "DiversityOptions",
    "ObjectCounts",
    "count_objects",
    "diversity",
]

ORDERS = (1, 2, 3, 4)
"""The lengths of counted n-grams."""

# Words, and single characters outside of words: punctuation.
_PLAIN_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*|\S")

# Punctuation in the COCO Captions paper (section 3), with brackets in the tokenizer's form.
_PUNCTUATION = frozenset(
    "'' ' `` ` . ? ! , : - -- ... ; -LRB- -RRB- -LCB- -RCB- -lrb- -rrb- -lcb- -rcb-".split()  # noqa: SIM905
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Diversity:
    """N-grams and lengths in samples of captions.

    Attributes:
        images: The number of images in each sample.
        captions: The number of captions per image.
        unique: The number of different n-grams in each sample: samples by n-gram orders.
        lengths: The mean number of words per caption in each sample.
        histogram: The number of captions with 0, 1, 2, ... words in the whole corpus.
    """

    images: int
    captions: int
    unique: NDArray[np.int64]
    lengths: FloatArray
    histogram: NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectCounts:
    """Histograms of objects per image.

    Attributes:
        classes: The number of images with 0, 1, 2, ... classes.
        instances: The number of images with 0, 1, 2, ... instances.
    """

    classes: NDArray[np.int64]
    instances: NDArray[np.int64]

    @property
    def images(self) -> int:
        """The number of images."""
        return int(self.classes.sum())

    @property
    def mean_classes(self) -> float:
        """The mean number of classes per image."""
        return _compute_mean(self.classes)

    @property
    def mean_instances(self) -> float:
        """The mean number of instances per image."""
        return _compute_mean(self.instances)

    @property
    def single_class(self) -> float:
        """The share of images with one class."""
        return float(self.classes[1:2].sum() / self.images)

    @property
    def many_classes(self) -> float:
        """The share of images with more than six classes."""
        return float(self.classes[7:].sum() / self.images)


class Corpus:
    """Captions tokenized once, with ids of the n-grams that start at each word.

    The words of the paper's counts consist of letters and digits in lower case, with apostrophes inside
    (`man's`). Every other character, such as the hyphen of `t-shirt`, is punctuation. N-grams end at
    punctuation.

    Args:
        captions: The captions of each image.
        options: The words and n-grams, and the samples that `diversity` draws.
        tokenizer: The tokenizer that replaces `options.words`; its option `punctuation` is ignored.

    Example:
        >>> from capeval import References
        >>> from capeval.studies.diversity import Corpus, DiversityOptions
        >>> captions = References({1: ["A dog runs.", "The dog runs."]})
        >>> corpus = Corpus(captions, DiversityOptions(images=1, captions=2, samples=1))
        >>> corpus.diversity().unique.tolist()  # Different words, bigrams, 3-grams and 4-grams.
        [[4, 3, 2, 0]]
    """

    def __init__(
        self,
        captions: References,
        options: DiversityOptions = DiversityOptions(),  # noqa: B008 - it is immutable.
        *,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        if tokenizer is None and options.words == "reference":
            tokenizer = Tokenizer()
        texts = [caption for group in captions.values() for caption in group]
        tokens = _split_plain_words(texts) if tokenizer is None else _tokenize_texts(texts, tokenizer)
        words, caption, run = _flatten(tokens, across_punctuation=options.across_punctuation)
        self._options = options
        self.counts = captions.counts
        self._caption = caption
        self._lengths = np.bincount(caption, minlength=len(texts))
        self._ngrams = tuple(_number_ngrams(words, run))

    def diversity(self) -> Diversity:
        """Count n-grams in random samples of images and of their captions.

        Raises:
            MismatchError: Too few images have enough captions.
        """
        images, samples = self._options.images, self._options.samples
        captions = COLLECTED[1] if self._options.captions is None else self._options.captions
        eligible = np.flatnonzero(self.counts >= captions)
        if len(eligible) < images:
            raise MismatchError(
                f"a corpus must have {images:,} images with {captions} captions each (got {len(eligible):,})"
            )
        ends = np.cumsum(self.counts)
        rng = make_generator(self._options.seed)
        unique, lengths = np.empty((samples, len(ORDERS)), dtype=np.int64), np.empty(samples)
        for sample in range(samples):
            chosen = np.zeros(len(self._lengths), dtype=bool)
            for image in rng.choice(eligible, images, replace=False):
                first = ends[image] - self.counts[image]
                chosen[first + rng.choice(self.counts[image], captions, replace=False)] = True
            places = chosen[self._caption]
            for column, ngrams in enumerate(self._ngrams):
                inside = ngrams[places]
                unique[sample, column] = len(np.unique(inside[inside >= 0]))
            lengths[sample] = self._lengths[chosen].mean()
        return Diversity(
            images=images,
            captions=captions,
            unique=unique,
            lengths=lengths,
            histogram=np.bincount(self._lengths),
        )


def diversity(
    corpora: Mapping[str, References],
    options: DiversityOptions = DiversityOptions(),  # noqa: B008 - it is immutable.
    *,
    tokenizer: Tokenizer | None = None,
) -> dict[str, Diversity]:
    """Count the unique n-grams of several corpora in samples of equal size.

    Args:
        corpora: The captions of each image, by the corpus's name.
        options: The words and n-grams, and the samples.
        tokenizer: The tokenizer that replaces `options.words`; see `Corpus`.

    Raises:
        MismatchError: A corpus has too few images with enough captions.

    Example:
        >>> from capeval import References
        >>> from capeval.studies.diversity import DiversityOptions, diversity
        >>> corpora = {
        ...     "people": References({1: ["A brown dog runs."], 2: ["Two cats sleep."]}),
        ...     "system": References({1: ["A dog."], 2: ["A cat."]}),
        ... }
        >>> found = diversity(corpora, DiversityOptions(images=2, captions=1, samples=1))
        >>> {name: each.unique[0].tolist() for name, each in found.items()}  # 1-grams to 4-grams
        {'people': [7, 5, 3, 1], 'system': [3, 2, 0, 0]}
    """
    results = {}
    for name, references in corpora.items():
        corpus = Corpus(references, options, tokenizer=tokenizer)
        try:
            results[name] = corpus.diversity()
        except MismatchError as error:
            raise MismatchError(f"{name}: {error}") from None
    return results


def count_objects(objects: Objects) -> ObjectCounts:
    """Count the classes and instances of each image.

    Raises:
        MismatchError: There are no images.

    Example:
        >>> from capeval.studies.diversity import count_objects
        >>> counts = count_objects({1: {"dog": 3}, 2: {"dog": 1, "cat": 1}})
        >>> counts.classes.tolist()  # No image without a class, one image with one, and one with two.
        [0, 1, 1]
        >>> counts.mean_classes, counts.mean_instances
        (1.5, 2.5)
    """
    if not objects:
        raise MismatchError("objects must have at least one image (got none)")
    return ObjectCounts(
        classes=np.bincount([len(classes) for classes in objects.values()]),
        instances=np.bincount([sum(classes.values()) for classes in objects.values()]),
    )


def _split_plain_words(texts: Iterable[str]) -> Iterator[list[str | None]]:
    """Yield words as in the published counts, with None for punctuation."""
    for text in texts:
        yield [token if token[0].isalnum() else None for token in _PLAIN_WORD.findall(text.lower())]


def _tokenize_texts(texts: Sequence[str], tokenizer: Tokenizer) -> Iterator[list[str | None]]:
    """Yield the tokens of a tokenizer, with None for punctuation."""
    keep = tokenizer if tokenizer.kind == "function" else replace(tokenizer, punctuation="keep")
    for tokens in tokenize(texts, keep):
        # An empty tokenized caption has one empty token.
        yield [None if token in _PUNCTUATION else token for token in tokens if token]


def _flatten(
    captions: Iterable[Sequence[str | None]], *, across_punctuation: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return all words: the id of each, its caption, and its run of words."""
    numbers: dict[str, int] = {}
    words: list[int] = []
    of_caption: list[int] = []
    of_run: list[int] = []
    run = 0
    for place, tokens in enumerate(captions):
        run += 1
        for token in tokens:
            if token is None:
                run += not across_punctuation
                continue
            words.append(numbers.setdefault(token, len(numbers)))
            of_caption.append(place)
            of_run.append(run)
    return (
        np.array(words, dtype=np.int64),
        np.array(of_caption, dtype=np.int64),
        np.array(of_run, dtype=np.int64),
    )


def _number_ngrams(words: NDArray[np.int64], run: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the ids of the n-grams that start at each word, for each order.

    The id is -1 if the run of words is too short.
    """
    ngrams = words
    vocabulary = int(words.max(initial=0)) + 1
    for order in ORDERS:
        if order > 1:
            last = order - 1
            whole = np.zeros(len(words), dtype=bool)
            whole[:-last] = run[last:] == run[:-last]
            longer = np.full(len(words), -1, dtype=np.int64)
            # An n-gram is an (n - 1)-gram and a word. Renumbering keeps the ids small.
            pairs = ngrams[whole] * vocabulary + np.roll(words, -last)[whole]
            longer[whole] = np.unique(pairs, return_inverse=True)[1]
            ngrams = longer
        yield ngrams


def _compute_mean(histogram: NDArray[np.int64]) -> float:
    return float(np.arange(len(histogram)) @ histogram / histogram.sum())
