"""Shared by the studies of metrics: sentences as words or stems, and metrics that score either."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from capeval._internal.optional_packages import missing_package
from capeval.data.captions import ImageId, References
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, OptionError
from capeval.metrics.base import Metric
from capeval.tokenizers import TokenizedReferences, Tokenizer, tokenize

__all__ = [
    "WORDS",
    "Contender",
    "check_scored",
    "contender_names",
    "require_tokens",
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
        stem: Whether it scores stems instead of words. CIDEr makes stems itself.
        name: A name for a metric with one score; by default the name of that score.
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
        OptionError: There is none, a name occurs twice, a metric of several scores has one name, or a
            metric reads captions as written.
    """
    require_tokens(contender.metric for contender in contenders)
    names = [name for contender in contenders for name in contender.names]
    if not names or len(set(names)) < len(names):
        raise OptionError(f"contenders must have different names, at least one (got {', '.join(names)})")
    for contender in contenders:
        if len(contender.names) < len(contender.metric.names):
            raise OptionError(f"a metric of several scores can't have one name (got {contender.name!r})")
    return tuple(names)


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


def require_tokens(metrics: Iterable[Metric]) -> None:
    """Checks that metrics read tokens: a study that tokenizes its captions once has no others to give.

    Raises:
        OptionError: A metric reads captions as written.
    """
    for metric in metrics:
        if metric.reads != "tokens":
            shown = ", ".join((metric.family, *metric.options()))
            raise OptionError(
                "'metrics' must read tokens, since this study scores captions that are tokenized once"
                f" (got {shown}, which reads captions as written)"
            )


def words_of(texts: Iterable[str], tokenizer: Tokenizer) -> dict[str, str]:
    """Each different text with its tokens joined by single spaces; each is tokenized once."""
    different = list(dict.fromkeys(texts))
    tokens = tokenize(different, tokenizer)
    return dict(zip(different, (" ".join(words) for words in tokens), strict=True))


def stems_of(texts: Iterable[str]) -> dict[str, str]:
    """Each different text of `words_of` with the stems of its words: those that CIDEr compares.

    The native module does not return CIDEr's stems, so other metrics get theirs from snowballstemmer, which
    has the same algorithm.

    Raises:
        DependencyError: snowballstemmer is not installed.
    """
    try:
        import snowballstemmer
    except ImportError as error:
        raise missing_package("stems need", error) from None
    stem = snowballstemmer.stemmer("english").stemWord
    different = dict.fromkeys(texts)
    stems = {word: stem(word) for text in different for word in text.split(" ") if word}
    return {text: " ".join(stems[word] for word in text.split(" ") if word) for text in different}


def with_frequencies(metric: Metric, corpus: Mapping[ImageId, Sequence[str]], name: str) -> Metric:
    """The metric with the document frequencies of a corpus, if it would count them in the references.

    Args:
        metric: Any metric; one that uses no document frequencies, or has its own, is returned unchanged.
        corpus: The words of each image's captions.
        name: What to call the corpus in signatures.
    """
    if metric.counts is None:
        return metric
    return metric.counted_on(TokenizedReferences(References(corpus), WORDS), name)
