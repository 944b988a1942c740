"""Metric scores of pairs of candidates, as in section 7 of the CIDEr paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from capeval._internal.random import make_generator
from capeval.data.captions import Candidates, ImageId, References
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.formats.judgments.plans import Pair
from capeval.metrics.base import Metric
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider2015, CiderD
from capeval.metrics.meteor import Meteor
from capeval.metrics.options import describe_options
from capeval.metrics.rouge import RougeL, RougeN, RougeS
from capeval.studies.shared.words import (
    WORDS,
    ComparedMetric,
    add_document_frequencies,
    check_scored,
    stem_texts,
    tokenize_texts,
    validate_contenders,
)
from capeval.tokenizers import Tokenizer

__all__ = ["PAPER_CONTENDERS", "PAPER_TOKENIZER", "PairScorer", "list_contenders", "tokenize_pairs"]

PAPER_TOKENIZER = Tokenizer(punctuation="keep")
"""The tokenizer that comes closest to the CIDEr paper's table: it keeps punctuation."""

PAPER_CONTENDERS = (
    ComparedMetric(metric=Bleu(orders=(1, 4), level="sentence"), stem=True),
    ComparedMetric(metric=RougeN(n=1), stem=True),
    ComparedMetric(metric=RougeL(beta=2.0), stem=True),
    ComparedMetric(metric=Meteor()),
    ComparedMetric(metric=Cider2015()),
    ComparedMetric(metric=CiderD()),
)
"""The metrics as in the CIDEr paper: sentence-level BLEU, and stems instead of words (appendix VII)."""

# Appendix VII defines these metrics on stems. METEOR and CIDEr have options for stems.
_STEMMED = (Bleu, RougeL, RougeN, RougeS)


def list_contenders(metrics: Sequence[Metric]) -> tuple[ComparedMetric, ...]:
    """Return metrics as contenders: BLEU and ROUGE score stems, as in the CIDEr paper.

    Names contain options, such as `CIDEr-D(stem=true)`, so that variants of a metric can be compared.

    Example:
        >>> from capeval.metrics.cider import CiderD
        >>> from capeval.studies.shared.pair_scores import list_contenders
        >>> [each.names for each in list_contenders([CiderD(), CiderD(stem=True)])]
        [('CIDEr-D',), ('CIDEr-D(stem=true)',)]
    """
    return tuple(
        ComparedMetric(
            metric=metric,
            stem=isinstance(metric, _STEMMED),
            name=(describe_options(metric) or None) if len(metric.names) == 1 else None,
        )
        for metric in metrics
    )


def tokenize_pairs(pairs: Sequence[Pair], tokenizer: Tokenizer) -> tuple[Pair, ...]:
    """Return pairs of tokens joined by single spaces; each sentence is tokenized once."""
    tokenized = tokenize_texts((text for pair in pairs for text in _list_texts(pair)), tokenizer)
    return tuple(_map_texts(pair, tokenized) for pair in pairs)


def _list_texts(pair: Pair) -> tuple[str, ...]:
    return (pair.first, pair.second, *pair.references)


def _map_texts(pair: Pair, forms: Mapping[str, str]) -> Pair:
    """Return the pair with each sentence replaced by its form, such as its stems."""
    return replace(
        pair,
        first=forms[pair.first],
        second=forms[pair.second],
        references=tuple(forms[text] for text in pair.references),
    )


class PairScorer:
    """Pairs, tokenized and stemmed once, to score with all or some references.

    Document frequencies come from the references in use, image by image, unless a metric has its own.

    Args:
        pairs: The pairs, with references.
        contenders: The metrics.
        tokenizer: The tokenizer.

    Raises:
        MismatchError: There are no pairs, or a pair has no references.
        OptionError: Two contenders have scores of the same name.
        DependencyError: Stems are required and snowballstemmer is not installed.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        contenders: Sequence[ComparedMetric] = PAPER_CONTENDERS,
        *,
        tokenizer: Tokenizer = PAPER_TOKENIZER,
    ) -> None:
        if not pairs:
            raise MismatchError("at least one pair is required (got none)")
        for place, pair in enumerate(pairs):
            if not pair.references:
                raise MismatchError(f"every pair must have references (got none for pair {place})")
        self.names = validate_contenders(contenders)
        self.pairs = tuple(pairs)
        self.contenders = tuple(contenders)
        self._words = tokenize_pairs(pairs, tokenizer)
        stemmed = any(contender.stem for contender in contenders)
        stems = stem_texts(text for pair in self._words for text in _list_texts(pair)) if stemmed else {}
        self._stems = tuple(_map_texts(pair, stems) for pair in self._words) if stemmed else ()

    def scores(self, chosen: Sequence[NDArray[np.int64]] | None = None) -> dict[str, FloatArray]:
        """Return the scores of both candidates of each pair, by name: pairs by 2.

        Args:
            chosen: Positions of the references to use for each pair; all by default.
        """
        scores: dict[str, FloatArray] = {}
        for contender in self.contenders:
            pairs = self._stems if contender.stem else self._words
            references = [
                pair.references if chosen is None else tuple(pair.references[i] for i in chosen[place])
                for place, pair in enumerate(pairs)
            ]
            metric = add_document_frequencies(
                contender.metric, _group_references(pairs, references), "images of the pairs"
            )
            prepared = metric.prepare(References(dict(enumerate(references))), tokenizer=WORDS)
            candidates = {place: [pair.first, pair.second] for place, pair in enumerate(pairs)}
            scored = prepared.score(Candidates(candidates)).per_image
            check_scored(scored)
            for name, own_name in zip(contender.names, metric.names, strict=True):
                scores[name] = scored[own_name].reshape(-1, 2)
        return scores

    def differences(self, chosen: Sequence[NDArray[np.int64]] | None = None) -> dict[str, FloatArray]:
        """Return the first candidate's score minus the second's for each pair, by name.

        The sign is reversed for metrics with lower scores for better captions.
        """
        return self.subtract(self.scores(chosen))

    def subtract(self, scores: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the differences of the scores of both candidates, as `differences` does.

        Args:
            scores: The result of `scores`.
        """
        signs = {
            name: 1 if contender.metric.higher_is_better else -1
            for contender in self.contenders
            for name in contender.names
        }
        return {name: signs[name] * (both[:, 0] - both[:, 1]) for name, both in scores.items()}

    def draw(self, count: int, *, seed: int = 0) -> list[NDArray[np.int64]]:
        """Draw `count` references of each pair at random.

        With the same seed, a larger number contains the references of a smaller one.

        Raises:
            MismatchError: A pair has fewer references.
        """
        fewest = min(len(pair.references) for pair in self.pairs)
        if not 1 <= count <= fewest:
            raise MismatchError(f"the number of references must be between 1 and {fewest} (got {count})")
        rng = make_generator(seed)
        return [rng.permutation(len(pair.references))[:count] for pair in self.pairs]


def _group_references(pairs: Sequence[Pair], references: Sequence[Sequence[str]]) -> dict[ImageId, list[str]]:
    """Return the different references of each image, over all of its pairs."""
    images: dict[ImageId, dict[str, None]] = {}
    for pair, texts in zip(pairs, references, strict=True):
        images.setdefault(pair.image, {}).update(dict.fromkeys(texts))
    return {image: list(texts) for image, texts in images.items()}
