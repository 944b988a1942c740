"""Base class of the `CiderScorer` classes of CIDEr forks for self-critical training."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import ClassVar, Self

import numpy as np

from capeval import _native
from capeval.compat.frequencies import Df, get_counts, resolve_frequencies
from capeval.compat.pairs import Pairs
from capeval.data.captions import References
from capeval.data.scores import FloatArray
from capeval.errors import OptionError
from capeval.metrics.base import Metric
from capeval.metrics.cider_base import Source
from capeval.resources import DocumentFrequencies
from capeval.tokenizers import Tokenizer

__all__ = ["TOKENS", "FrequencyPairs"]

TOKENS = Tokenizer(kind="none")
"""The tokenizer of captions that are tokens joined by spaces."""


class FrequencyPairs(Pairs):
    """Pairs of a candidate and its references, scored with document frequencies.

    Attributes:
        ctest: The candidates; None for a missing one.
        crefs: The references of each candidate.
        df_mode: The argument `df_mode`.
        n: The maximum n-gram order.
        sigma: The width of the length penalty.
        frequencies: The document frequencies of `df_mode` or of `compute_doc_freq`; None before.

    Args:
        df_mode: The document frequencies: `corpus` for the references of the pairs, the name or the path of
            a pickle, or `DocumentFrequencies`.
        test: A candidate, as tokens joined by spaces.
        refs: Its references.
        n: The maximum n-gram order, 1 to 4.
        sigma: The width of the length penalty.

    Raises:
        FormatError: The pickle is invalid.
        OptionError: `n` or `sigma` is invalid, or the pickle lacks the number of images.
        ResourceError: There is no such pickle.
    """

    scale: ClassVar[float]
    """The factor from the metric's scores to the fork's."""

    def __init__(
        self,
        df_mode: Df = "corpus",
        test: str | None = None,
        refs: Sequence[str] | None = None,
        n: int = 4,
        sigma: float = 6.0,
    ) -> None:
        self.n = n
        self.sigma = sigma
        self.df_mode = df_mode
        source = resolve_frequencies(df_mode)
        self.frequencies = None if source == "references" else source
        # Creating the metric checks the options.
        self.create_metric(source)
        super().__init__(test, refs)

    def create_metric(self, frequencies: Source) -> Metric:
        """Return the metric with these document frequencies."""
        raise NotImplementedError

    @property
    def metric(self) -> Metric:
        """The metric: with the frequencies of `df_mode`, or counted in the references."""
        if self.counts_references or self.frequencies is None:
            return self.create_metric("references")
        return self.create_metric(self.frequencies)

    @property
    def counts_references(self) -> bool:
        """Whether `compute_score` counts the document frequencies in the references."""
        return isinstance(self.df_mode, str) and self.df_mode == "corpus"

    @property
    def document_frequency(self) -> defaultdict[tuple[str, ...], float]:
        """The number of images with each n-gram of two or more images; 0 for other n-grams."""
        return defaultdict(float) if self.frequencies is None else get_counts(self.frequencies)

    @property
    def ref_len(self) -> float | None:
        """The logarithm of the number of images in `frequencies`; setting it changes the number."""
        return None if self.frequencies is None else math.log(self.frequencies.images)

    @ref_len.setter
    def ref_len(self, value: float) -> None:
        if self.frequencies is None:
            raise OptionError("'ref_len' can be set after compute_doc_freq(), which counts the n-grams")
        if value != self.ref_len:
            words, _, counts, longer = self.frequencies.native.to_parts()
            native = _native.DocumentFrequencies.from_parts(words, math.exp(value), counts, longer)
            self.frequencies = DocumentFrequencies(native, name=self.frequencies.name)

    def compute_doc_freq(self) -> None:
        """Count the n-grams in the references of all pairs; each pair counts as one image.

        Raises:
            CaptionError: There are no pairs.
        """
        references = {f"pair {number}": refs for number, refs in enumerate(self.crefs, 1)}
        self.frequencies = DocumentFrequencies.of(References(references), tokenizer=TOKENS)

    def clear(self) -> None:
        """Remove all pairs."""
        self.crefs, self.ctest = [], []

    def copy_empty(self) -> Self:
        """Return a scorer with the same options and document frequencies, without pairs."""
        new = self.copy()
        new.clear()
        return new

    def compute_score(
        self,
        option: object = None,  # noqa: ARG002
        verbose: int = 0,  # noqa: ARG002
    ) -> tuple[np.float64, FloatArray]:
        """Score the pairs.

        Args:
            option: Accepted and ignored, as in the forks.
            verbose: Accepted and ignored, as in the forks.

        Returns:
            The mean score, and the score of each pair.

        Raises:
            CaptionError: There are no pairs, or a pair has no candidate.
        """
        metric = self.metric
        scores = self._score_pairs(metric).per_image[metric.names[0]] * self.scale
        return np.float64(scores.mean()), scores

    def my_get_cider(self, gts: Sequence[str], res: Sequence[str]) -> FloatArray:
        """Return the score of each caption in `res` with each single caption in `gts` as its reference.

        Returns:
            The scores, of shape `(len(res), len(gts))`.

        Raises:
            CaptionError: There are no captions.
            OptionError: There are no document frequencies.
        """
        (scores,) = self.score_matrices([(gts, res)])
        return scores

    def my_get_self_cider(self, res: Sequence[str]) -> FloatArray:
        """Return the score of each caption with each caption as its reference.

        Raises:
            CaptionError: There are no captions.
            OptionError: There are no document frequencies.
        """
        return self.my_get_cider(res, res)

    def score_matrices(self, groups: Iterable[tuple[Sequence[str], Sequence[str]]]) -> list[FloatArray]:
        """Return `my_get_cider` of each group of references and candidates.

        Raises:
            CaptionError: A group has no captions.
            OptionError: There are no document frequencies.
        """
        if self.frequencies is None:
            raise OptionError(
                "scores of captions with each other need document frequencies; set df to a pickle, or add"
                " references to the CiderScorer and call its compute_doc_freq()"
            )
        metric = self.create_metric(self.frequencies)
        shapes, references, candidates = [], {}, {}
        for row, (gts, res) in enumerate(groups):
            shapes.append((len(gts), len(res)))
            for column, text in enumerate(gts):
                references[f"gts[{row}][{column}]"] = [text]
                candidates[f"gts[{row}][{column}]"] = list(res)
        prepared = metric.prepare(References(references), tokenizer=TOKENS)
        scores = prepared.score(candidates).per_image[metric.names[0]] * self.scale
        ends = np.cumsum([rows * columns for rows, columns in shapes])
        parts = np.split(scores, ends[:-1])
        return [part.reshape(shape).T for part, shape in zip(parts, shapes, strict=True)]
