"""How diverse captions and images are (nocaps, section 3.2, Table 1 and Figure 2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from capeval._internal.random import generator
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
"""The lengths of the n-grams that are counted."""

# Words, and single characters that are not words: marks.
_PLAIN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*|\S")

# What the paper on COCO Captions (section 3) lists as punctuation; brackets as the tokenizer writes them.
_PUNCTUATION = frozenset(
    "'' ' `` ` . ? ! , : - -- ... ; -LRB- -RRB- -LCB- -RCB- -lrb- -rrb- -lcb- -rcb-".split()  # noqa: SIM905
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Diversity:
    """The n-grams and lengths of samples of captions.

    Attributes:
        images: The number of images in each sample.
        captions: The number of captions of each image.
        unique: The number of different n-grams in each sample: samples by n-gram orders.
        lengths: The mean number of words of a caption in each sample.
        histogram: How many captions of the whole corpus have 0, 1, 2, ... words.
    """

    images: int
    captions: int
    unique: NDArray[np.int64]
    lengths: FloatArray
    histogram: NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectCounts:
    """How many objects images have, as histograms over images.

    Attributes:
        classes: How many images have 0, 1, 2, ... classes.
        instances: How many images have 0, 1, 2, ... instances.
    """

    classes: NDArray[np.int64]
    instances: NDArray[np.int64]

    @property
    def images(self) -> int:
        """The number of images."""
        return int(self.classes.sum())

    @property
    def mean_classes(self) -> float:
        """The mean number of classes of an image."""
        return _mean(self.classes)

    @property
    def mean_instances(self) -> float:
        """The mean number of instances of an image."""
        return _mean(self.instances)

    @property
    def single_class(self) -> float:
        """The part of the images with only one class."""
        return float(self.classes[1:2].sum() / self.images)

    @property
    def many_classes(self) -> float:
        """The part of the images with more than six classes."""
        return float(self.classes[7:].sum() / self.images)


class Corpus:
    """Captions tokenized once, with the numbers of the n-grams that begin at each word.

    The words of the paper's counts are letters and digits in lower case, with apostrophes inside them
    (`man's`), and every other character is a mark, such as the hyphen of `t-shirt`. N-grams end at marks.

    Args:
        captions: The captions of each image.
        options: The words and n-grams, and the samples that `diversity` draws.
        tokenizer: How to tokenize, instead of `options.words`; its option `punctuation` is not used.
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
        tokens = _plain(texts) if tokenizer is None else _tokens(texts, tokenizer)
        words, caption, run = _flat(tokens, across_punctuation=options.across_punctuation)
        self._options = options
        self.counts = captions.counts
        self._caption = caption
        self._lengths = np.bincount(caption, minlength=len(texts))
        self._ngrams = tuple(_numbered(words, run))

    def diversity(self) -> Diversity:
        """Count n-grams in random samples of the images, and of the captions of each.

        Raises:
            MismatchError: There are too few images with that many captions.
        """
        images, samples = self._options.images, self._options.samples
        captions = COLLECTED[1] if self._options.captions is None else self._options.captions
        rich = np.flatnonzero(self.counts >= captions)
        if len(rich) < images:
            raise MismatchError(
                f"a corpus must have {images:,} images with {captions} captions each (got {len(rich):,})"
            )
        ends = np.cumsum(self.counts)
        rng = generator(self._options.seed)
        unique, lengths = np.empty((samples, len(ORDERS)), dtype=np.int64), np.empty(samples)
        for sample in range(samples):
            chosen = np.zeros(len(self._lengths), dtype=bool)
            for image in rng.choice(rich, images, replace=False):
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
    """Count the unique n-grams of several corpora in samples of the same size.

    Args:
        corpora: The captions of each image, by the corpus's name.
        options: The words and n-grams, and the samples.
        tokenizer: How to tokenize, instead of `options.words`; see `Corpus`.

    Raises:
        MismatchError: A corpus has too few images with that many captions.
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
    """How many classes and instances images have.

    Raises:
        MismatchError: There is no image.
    """
    if not objects:
        raise MismatchError("objects must be of at least one image (got none)")
    return ObjectCounts(
        classes=np.bincount([len(classes) for classes in objects.values()]),
        instances=np.bincount([sum(classes.values()) for classes in objects.values()]),
    )


def _plain(texts: Iterable[str]) -> Iterator[list[str | None]]:
    """Words as the published counts have them; nothing in the place of a mark."""
    for text in texts:
        yield [token if token[0].isalnum() else None for token in _PLAIN.findall(text.lower())]


def _tokens(texts: Sequence[str], tokenizer: Tokenizer) -> Iterator[list[str | None]]:
    """Tokens of a tokenizer; nothing in the place of a mark."""
    keep = tokenizer if tokenizer.kind == "function" else replace(tokenizer, punctuation="keep")
    for tokens in tokenize(texts, keep):
        # An empty caption of tokens has one empty token.
        yield [None if token in _PUNCTUATION else token for token in tokens if token]


def _flat(
    captions: Iterable[Sequence[str | None]], *, across_punctuation: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """All words in a row: the number of each, of its caption, and of the run of words it belongs to."""
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


def _numbered(words: NDArray[np.int64], run: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """The number of the n-gram that begins at each place, -1 where its run is too short; by order."""
    ngrams = words
    vocabulary = int(words.max(initial=0)) + 1
    for order in ORDERS:
        if order > 1:
            last = order - 1
            whole = np.zeros(len(words), dtype=bool)
            whole[:-last] = run[last:] == run[:-last]
            longer = np.full(len(words), -1, dtype=np.int64)
            # An n-gram is an n-gram of one word less, and a word. Renumbering keeps the numbers small.
            pairs = ngrams[whole] * vocabulary + np.roll(words, -last)[whole]
            longer[whole] = np.unique(pairs, return_inverse=True)[1]
            ngrams = longer
        yield ngrams


def _mean(histogram: NDArray[np.int64]) -> float:
    return float(np.arange(len(histogram)) @ histogram / histogram.sum())
