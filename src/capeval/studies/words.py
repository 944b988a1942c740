"""Shared by the studies of metrics: sentences as words or stems, and the metrics that take either."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from capeval.errors import DependencyError, MismatchError, OptionError
from capeval.metrics.base import Metric
from capeval.tokenization import TokenizedReferences, Tokenizer, tokenize
from capeval.types import FloatArray, ImageId, References

__all__ = [
    "WORDS",
    "Contender",
    "check_reads_tokens",
    "check_scored",
    "contender_names",
    "stems_of",
    "with_frequencies",
    "words_of",
]

WORDS = Tokenizer(kind="none")
"""For sentences that are words joined by single spaces already."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A metric that is studied.

    Attributes:
        metric: The metric; each of its scores is studied on its own.
        stem: Whether it scores stems in place of words. CIDEr stems by itself.
        name: The name of a metric with one score; the name of that score by default.
    """

    metric: Metric
    stem: bool = False
    name: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its scores."""
        return (self.name,) if self.name is not None else self.metric.names


def contender_names(contenders: Sequence[Contender]) -> tuple[str, ...]:
    """The names of all scores.

    Raises:
        OptionError: There is none, a name occurs twice, a metric of several scores has one name, or one
            reads captions as they were written.
    """
    names = [name for contender in contenders for name in contender.names]
    if not names or len(set(names)) < len(names):
        raise OptionError(f"contenders must have different names, at least one (got {', '.join(names)})")
    check_reads_tokens(contender.metric for contender in contenders)
    for contender in contenders:
        if len(contender.names) < len(contender.metric.names):
            raise OptionError(f"a metric of several scores can't have one name (got {contender.name!r})")
    return tuple(names)


def check_reads_tokens(metrics: Iterable[Metric]) -> None:
    """Refuses metrics of captions as they were written: a study that tokenises first has only the tokens.

    Raises:
        OptionError: A metric reads captions.
    """
    for metric in metrics:
        if metric.reads != "tokens":
            raise OptionError(
                f"{metric.family} must read tokens in this study, which tokenises captions first"
                " (got a metric of captions as they were written)"
            )


def check_scored(scores: Mapping[str, FloatArray]) -> None:
    """Refuses scores that some captions don't have, in a study that ranks captions.

    Args:
        scores: The scores of captions, by name.

    Raises:
        MismatchError: A score is not a number for some captions, such as that of a category of SPICE whose
            tuples no reference has.
    """
    for name, values in scores.items():
        missing = int(np.isnan(values).sum())
        if missing:
            raise MismatchError(
                f"{name} must have a score for every caption (got none for {missing:,} of {values.size:,})"
            )


def words_of(texts: Iterable[str], tokenizer: Tokenizer) -> dict[str, str]:
    """Each different text with its tokens joined by single spaces; each is tokenised once."""
    different = list(dict.fromkeys(texts))
    tokens = tokenize(different, tokenizer)
    return dict(zip(different, (" ".join(words) for words in tokens), strict=True))


def stems_of(texts: Iterable[str]) -> dict[str, str]:
    """Each different text of `words_of` with the stems of its words: those that CIDEr compares.

    CIDEr's own stems stay inside the native module, which compares and never shows them. What gives stems
    to metrics that have none is therefore snowballstemmer, of the same algorithm.

    Raises:
        DependencyError: snowballstemmer is not installed.
    """
    try:
        import snowballstemmer
    except ImportError:
        reason = 'stems need snowballstemmer: pip install ".[studies]"'
        raise DependencyError(reason) from None
    stem = snowballstemmer.stemmer("english").stemWord
    different = dict.fromkeys(texts)
    stems = {word: stem(word) for text in different for word in text.split(" ") if word}
    return {text: " ".join(stems[word] for word in text.split(" ") if word) for text in different}


def with_frequencies(metric: Metric, corpus: Mapping[ImageId, Sequence[str]], name: str) -> Metric:
    """The metric with the document frequencies of a corpus of words, where it takes them from references.

    Args:
        metric: Any metric; one that uses no document frequencies, or brings its own, stays as it is.
        corpus: The words of each image's captions.
        name: What to call the corpus in signatures.
    """
    if metric.counts is None:
        return metric
    return metric.counted_on(TokenizedReferences(References(corpus), WORDS), name)
