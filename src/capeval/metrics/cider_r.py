"""CIDEr-R: CIDEr for captions of any length (dos Santos, Colombini and Avila 2021).

File names and lines are those of the published code: `pycocoevalcap/ciderR` of the repository
gabrielsantosrv/coco-caption, commit b5f2753.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from capeval import _native
from capeval.data.scores import FloatArray
from capeval.metrics.base import Kernel
from capeval.metrics.cider_base import CiderMetric, list_variants
from capeval.metrics.registry import register
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences, Tokenizer

__all__ = ["CiderR"]

# Exponents of the penalties: lines 144 and 175 of `ciderR_scorer.py`.
_REPETITION_EXPONENT = 0.8
_LENGTH_EXPONENT = 0.2
# The maximum score: line 196 of `ciderR_scorer.py`.
_SCALE = 10.0
# Words that may be repeated: line 31 of `utils.py`. "t-shirt" is two of them.
_REPEATABLE = re.compile(r"\w+")
# For captions that are already tokenized.
_WORDS = Tokenizer(kind="none")


@register
@dataclass(frozen=True, kw_only=True)
class CiderR(CiderMetric):
    """CIDEr-D with penalties for repetition and relative length.

    CIDEr-R is for captions that are longer than those of COCO, or differ more in length. Its penalty on the
    difference in length is relative to the length of the reference.

    Args:
        n: The maximum length of n-grams, 1 to 4.
        order: Score only n-grams of this length, for CIDEr-R-n; by default all lengths up to `n`.
        frequencies: The source of document frequencies: `references`, `uniform` (all n-grams have the same
            weight), or `DocumentFrequencies` of a different corpus.

    Raises:
        OptionError: An option has an invalid value.

    Example:
        The second candidate repeats words:

        >>> from capeval import CiderR, evaluate
        >>> references = {1: ["A dog runs on the grass."], 2: ["Two cats sleep on a bed."]}
        >>> candidates = {1: "A dog runs on the grass.", 2: "Two cats cats cats on a bed."}
        >>> report = evaluate(references, candidates, [CiderR()])
        >>> report.per_image["CIDEr-R"].round(3).tolist()
        [10.0, 2.399]
    """

    family: ClassVar[str] = "CIDEr-R"
    docs_page: ClassVar[str] = "cider_r"
    citations: ClassVar = ("santos2021cider", "vedantam2015cider")
    variants: ClassVar = list_variants("CIDEr-R")

    @property
    def _uses_stems(self) -> bool:
        """False: words are compared in full."""
        return False

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Count document frequencies, and compute the vector of each reference."""
        self._warn_about_frequencies(references)
        frequencies = self._get_native_frequencies()
        if frequencies == "references":
            frequencies = _native.DocumentFrequencies.of_references(references.native, self.n, False)
        each = _EachReference(references, frequencies, self.n)

        def statistics(candidates: TokenizedCandidates) -> FloatArray:
            similarities = each.compare(candidates)
            return np.column_stack([similarities, np.ones(len(similarities))])

        return statistics

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """Return the mean over images and orders, times 10."""
        return self._combine_orders(statistics, np.ones(self.n), _SCALE)


class _EachReference:
    """All references in one list, because a candidate has a different penalty for each of them."""

    def __init__(
        self,
        references: TokenizedReferences,
        frequencies: _native.DocumentFrequencies | Literal["uniform"],
        max_order: int,
    ) -> None:
        texts = [text for image in range(len(references)) for text in references.native.of(image)]
        self._counts = references.references.counts
        self._first = np.cumsum(self._counts) - self._counts
        self._repeated = [_split_words(text)[1] for text in texts]
        self._lengths = _measure_lengths(texts)
        self._native = _native.TokenizedReferences(_as_images(texts), _WORDS.native)
        self._prepared = _native.CiderReferences(
            self._native,
            frequencies,
            max_order=max_order,
            sigma=None,
            clip=True,
            pooling="mean",
            relative=False,
            stem=False,
        )

    def compare(self, candidates: TokenizedCandidates) -> FloatArray:
        """Return mean similarities with the references: one row per candidate, one column per order."""
        texts, images = candidates.texts(), candidates.positions
        counts = self._counts[images]
        starts = np.cumsum(counts) - counts
        # One pair of positions for each candidate and each of its references.
        rows = np.repeat(np.arange(len(texts)), counts)
        others = np.arange(len(rows)) - starts[rows] + self._first[images[rows]]
        pairs = _native.TokenizedCandidates(
            self._native, _as_images([texts[row] for row in rows.tolist()]), others, _WORDS.native
        )
        similarities = self._prepared.statistics(pairs)[:, :-1] * self._penalize(texts, rows, others)[:, None]
        means: FloatArray = np.add.reduceat(similarities, starts) / counts[:, None]
        return means

    def _penalize(
        self, texts: Sequence[str], rows: NDArray[np.int64], others: NDArray[np.int64]
    ) -> FloatArray:
        """Return the product of the penalties for repetition and length of each pair."""
        words = [_split_words(text) for text in texts]
        logarithms = np.array(
            [
                _compare_repetition(words[row], self._repeated[other])
                for row, other in zip(rows.tolist(), others.tolist(), strict=True)
            ]
        )
        # The length penalty: lines 18 to 20 of `utils.py`.
        lengths = self._lengths[others]
        share = (_measure_lengths(texts)[rows] - lengths) / lengths
        return _native.exp(-(_REPETITION_EXPONENT * logarithms + _LENGTH_EXPONENT * share * share))


def _as_images(texts: Sequence[str]) -> _native.Captions:
    """Return each text as the only caption of an image."""
    return _native.Captions.from_groups(list(range(len(texts))), [[text] for text in texts])


def _split_words(text: str) -> tuple[set[str], dict[str, int]]:
    """Return the different words of a caption, and the counts of those that it repeats."""
    words = _REPEATABLE.findall(text)
    different = set(words)
    if len(different) == len(words):
        return different, {}
    return different, {word: count for word, count in Counter(words).items() if count > 1}


def _measure_lengths(texts: Sequence[str]) -> FloatArray:
    """Return the number of bigrams plus 1: lines 138 and 172 of `ciderR_scorer.py`."""
    return np.array([max(1, len(text.split())) for text in texts], dtype=np.float64)


def _compare_repetition(
    candidate: tuple[Set[str], Mapping[str, int]], repeated_in_reference: Mapping[str, int]
) -> float:
    """Return minus the logarithm of the repetition penalty of a candidate.

    The penalty is a geometric mean over the candidate's words: lines 40 to 49 of `utils.py`, with the
    function of line 171 of `ciderR_scorer.py`. A word that only the candidate has may occur once, so only
    words that one of the captions repeats lower the penalty. A candidate without words has no penalty; the
    published code divides by 0.

    Args:
        candidate: The different words of the candidate, and the counts of those that it repeats.
        repeated_in_reference: The counts of the words that the reference repeats.
    """
    words, repeated = candidate
    if not repeated and not repeated_in_reference:
        return 0.0
    differences = [abs(count - repeated_in_reference.get(word, 1)) for word, count in repeated.items()]
    differences += [
        count - 1 for word, count in repeated_in_reference.items() if word in words and word not in repeated
    ]
    # An exact sum, which does not depend on the version of Python.
    return math.fsum(_log(1 + difference) for difference in differences) / max(1, len(words))


@cache
def _log(number: int) -> float:
    """Return the correctly rounded natural logarithm, which is the same on every platform."""
    # Imported lazily: few captions repeat words, and its import slows down the start.
    from decimal import Decimal

    return float(Decimal(number).ln())
