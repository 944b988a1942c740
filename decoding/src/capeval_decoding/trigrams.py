"""Trigram language model: absolute discounting, interpolated with lower orders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capeval.data.scores import FloatArray
from capeval.errors import OptionError
from capeval_decoding.vocabulary import Vocabulary

__all__ = ["TrigramModel"]

_DISCOUNT = 0.75


@dataclass(frozen=True, kw_only=True, eq=False)
class _Continuations:
    """Discounted token probabilities after each context, and the remaining mass."""

    contexts: NDArray[np.int64]
    starts: NDArray[np.int64]
    tokens: NDArray[np.int64]
    shares: FloatArray
    left: FloatArray

    @classmethod
    def of(cls, contexts: NDArray[np.int64], tokens: NDArray[np.int64], size: int) -> _Continuations:
        pairs, counts = np.unique(contexts * size + tokens, return_counts=True)
        found, starts, kinds = np.unique(pairs // size, return_index=True, return_counts=True)
        totals = np.add.reduceat(counts, starts)
        return cls(
            contexts=found,
            starts=np.append(starts, len(pairs)),
            tokens=pairs % size,
            shares=(counts - _DISCOUNT) / np.repeat(totals, kinds),
            left=_DISCOUNT * kinds / totals,
        )

    def interpolate(self, lower: FloatArray, context: int) -> FloatArray:
        """Return the probabilities after a context; overwrites `lower`, the lower order."""
        at = int(np.searchsorted(self.contexts, context))
        if at == len(self.contexts) or self.contexts[at] != context:
            return lower
        part = slice(self.starts[at], self.starts[at + 1])
        lower *= self.left[at]
        lower[self.tokens[part]] += self.shares[part]
        return lower


@dataclass(frozen=True, kw_only=True, eq=False)
class TrigramModel:
    """Trigram language model of captions.

    Every word has a probability above 0 after every context, except for the unknown word, which has 0.

    Attributes:
        vocabulary: Vocabulary of the model.
        single: Unigram probability of each word.
        after_one: Bigram statistics.
        after_two: Trigram statistics.

    Example:
        The most probable word after "a dog", and its probability:

        >>> import numpy as np
        >>> from capeval_decoding.captions import build_vocabulary
        >>> from capeval_decoding.trigrams import TrigramModel
        >>> captions = 3 * [["a", "dog", "runs"]] + [["a", "dog", "sleeps"]]
        >>> vocabulary = build_vocabulary(captions, least=1)
        >>> a, dog = (np.array([token]) for token in vocabulary.encode(["a", "dog"]))
        >>> scores, _ = TrigramModel.fit(captions, vocabulary).step(dog, a)
        >>> vocabulary.words[scores[0].argmax()], round(float(np.exp(scores[0].max())), 3)
        ('runs', 0.803)
    """

    vocabulary: Vocabulary
    single: FloatArray
    after_one: _Continuations
    after_two: _Continuations

    @classmethod
    def fit(cls, captions: Iterable[Sequence[str]], vocabulary: Vocabulary) -> TrigramModel:
        """Fit a model to tokenized captions.

        Raises:
            OptionError: There are no captions.
        """
        boundary, size = vocabulary.boundary, len(vocabulary)
        flat: list[int] = []
        for words in captions:
            # Two boundaries at the start: the context of the first word.
            flat += [boundary, boundary, *vocabulary.encode(words), boundary]
        if not flat:
            raise OptionError("'captions' must contain at least one caption (got none)")
        tokens = np.array(flat, dtype=np.int64)
        first, second, third = tokens[:-2], tokens[1:-1], tokens[2:]
        # Excludes trigrams that span two captions, and the boundaries at the start of a caption as targets.
        said = (second != boundary) | ((first == boundary) & (third != boundary))
        first, second, third = first[said], second[said], third[said]
        counts = np.bincount(third, minlength=size)
        kinds = np.count_nonzero(counts)
        single = np.maximum(counts - _DISCOUNT, 0) / counts.sum()
        return cls(
            vocabulary=vocabulary,
            single=single + _DISCOUNT * kinds / counts.sum() / size,
            after_one=_Continuations.of(second, third, size),
            after_two=_Continuations.of(first * size + second, third, size),
        )

    def get_initial_state(self) -> NDArray[np.int64]:
        """Return the initial state: the first of the two boundaries before a caption."""
        return np.array([self.vocabulary.boundary], dtype=np.int64)

    def step(
        self, tokens: NDArray[np.int64], before: NDArray[np.int64]
    ) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return the log-probabilities of the next words, and the new state.

        Args:
            tokens: Last word of each caption.
            before: State: the word before the last word of each caption.
        """
        size = len(self.vocabulary)
        contexts, rows = np.unique(before * size + tokens, return_inverse=True)
        chances = np.empty((len(contexts), size))
        for row, context in enumerate(contexts.tolist()):
            chances[row] = self.after_one.interpolate(self.single.copy(), context % size)
            self.after_two.interpolate(chances[row], context)
        chances[:, self.vocabulary.unknown] = 0
        chances /= chances.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            return np.log(chances)[rows], tokens
