"""Sentences as words or stems, and metrics that score them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from capeval._internal.optional_packages import make_missing_package_error
from capeval.data.captions import ImageId, References
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, OptionError
from capeval.metrics.base import Metric
from capeval.tokenizers import TokenizedReferences, Tokenizer, tokenize

__all__ = [
    "WORDS",
    "ComparedMetric",
    "add_document_frequencies",
    "check_scored",
    "require_tokens",
    "stem_texts",
    "tokenize_texts",
    "validate_contenders",
]

WORDS = Tokenizer(kind="none")
"""The tokenizer of sentences that are already words joined by single spaces."""


@dataclass(frozen=True, kw_only=True)
class ComparedMetric:
    """Metric in a comparison of metrics.

    Attributes:
        metric: The metric; each of its scores is compared separately.
        stem: Whether it scores stems instead of words. CIDEr stems words itself.
        name: The name of a metric with one score; by default the name of the score.
    """

    metric: Metric
    stem: bool = False
    name: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its scores."""
        return (self.name,) if self.name is not None else self.metric.names


def validate_contenders(contenders: Sequence[ComparedMetric]) -> tuple[str, ...]:
    """Return the names of all scores.

    Raises:
        OptionError: There are no contenders, a name occurs twice, a metric with several scores has one name,
            or a metric reads untokenized captions.
    """
    require_tokens(contender.metric for contender in contenders)
    names = [name for contender in contenders for name in contender.names]
    if not names or len(set(names)) < len(names):
        raise OptionError(f"there must be contenders, with different names (got {', '.join(names)})")
    for contender in contenders:
        if len(contender.names) < len(contender.metric.names):
            raise OptionError(f"a metric with several scores can't have one name (got {contender.name!r})")
    return tuple(names)


def check_scored(scores: Mapping[str, FloatArray]) -> None:
    """Check that every caption has a score, in a study that ranks captions.

    Args:
        scores: The scores of captions, by name.

    Raises:
        MismatchError: A score is NaN for some captions, such as a SPICE category without tuples in the
            references.
    """
    for name, values in scores.items():
        missing = int(np.isnan(values).sum())
        if missing:
            raise MismatchError(
                f"{name} must have a score for every caption (got none for {missing:,} of {values.size:,})"
            )


def require_tokens(metrics: Iterable[Metric]) -> None:
    """Check that metrics read tokens, for studies that tokenize captions only once.

    Raises:
        OptionError: A metric reads untokenized captions.
    """
    for metric in metrics:
        if metric.input_kind != "tokens":
            shown = ", ".join((metric.family, *metric.options()))
            raise OptionError(
                "'metrics' must read tokens, because this study tokenizes captions only once"
                f" (got {shown}, which reads untokenized captions)"
            )


def tokenize_texts(texts: Iterable[str], tokenizer: Tokenizer) -> dict[str, str]:
    """Return the tokens of each different text, joined by single spaces."""
    different = list(dict.fromkeys(texts))
    tokens = tokenize(different, tokenizer)
    return dict(zip(different, (" ".join(words) for words in tokens), strict=True))


def stem_texts(texts: Iterable[str]) -> dict[str, str]:
    """Return the stems of the words of each different text, as compared by CIDEr.

    Texts are results of `tokenize_texts`. The native module does not return CIDEr's stems, so other metrics
    get theirs from snowballstemmer, which has the same algorithm.

    Raises:
        DependencyError: snowballstemmer is not installed.
    """
    try:
        import snowballstemmer
    except ImportError as error:
        raise make_missing_package_error("stems need", error) from None
    stem = snowballstemmer.stemmer("english").stemWord
    different = dict.fromkeys(texts)
    words = {word for text in different for word in text.split(" ") if word}
    stems = {word: stem(word) for word in words}
    return {text: " ".join(stems[word] for word in text.split(" ") if word) for text in different}


def add_document_frequencies(metric: Metric, corpus: Mapping[ImageId, Sequence[str]], name: str) -> Metric:
    """Return the metric with the document frequencies of a corpus, if it needs any.

    Args:
        metric: Any metric; a metric that uses no document frequencies, or has its own, is returned unchanged.
        corpus: The words of each image's captions.
        name: The name of the corpus in signatures.
    """
    if metric.frequency_unit is None:
        return metric
    return metric.with_corpus(TokenizedReferences(References(corpus), WORDS), name)
