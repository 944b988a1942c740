"""CIDEr-2015 and CIDEr-D from equations 16 to 20 of the COCO Captions paper and appendix VIII of CIDEr's."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from capeval import Cider2015, CiderD, DocumentFrequencies, References, Tokenizer
from capeval.metrics import Metric
from capeval.metrics.cider_base import CiderMetric
from tests.twins.scoring import Scored, means
from tests.twins.text import Ngram, ngrams, words

Stem = Callable[[str], str]
# Stems of the words that tests use, for the twin; the others are their own stems.
STEMS = {
    "running": "run",
    "runs": "run",
    "dogs": "dog",
    "horses": "hors",
    "fishes": "fish",
    "fishing": "fish",
}


def as_is(word: str) -> str:
    return word


def document_frequencies(corpus: Sequence[Sequence[str]], n: int = 4, stem: Stem = as_is) -> Counter[Ngram]:
    """In how many images each n-gram of one to n words is in a reference."""
    frequencies: Counter[Ngram] = Counter()
    for references in corpus:
        stems = [[stem(word) for word in words(reference)] for reference in references]
        frequencies.update(
            {ngram for tokens in stems for k in range(1, n + 1) for ngram in ngrams(tokens, k)}
        )
    return frequencies


@dataclass(frozen=True)
class Weights:
    """Inverse document frequencies; every n-gram weighs 1 if `frequencies` is None."""

    frequencies: Mapping[Ngram, float] | None
    images: float = 1.0

    def of(self, ngram: Ngram) -> float:
        if self.frequencies is None:
            return 1.0
        return math.log(self.images) - math.log(max(1.0, self.frequencies.get(ngram, 0)))


def vector(tokens: Sequence[str], n: int, weights: Weights, total: float) -> dict[Ngram, float]:
    return {ngram: count / total * weights.of(ngram) for ngram, count in ngrams(tokens, n).items()}


def cosine(a: Mapping[Ngram, float], b: Mapping[Ngram, float], *, clip: bool) -> float:
    norms = math.sqrt(sum(value**2 for value in a.values()) * sum(value**2 for value in b.values()))
    if norms == 0:
        return 0.0
    shared = (ngram for ngram in a if ngram in b)
    product = sum((min(a[ngram], b[ngram]) if clip else a[ngram]) * b[ngram] for ngram in shared)
    return product / norms


def terms(tokens: Sequence[str], n: int) -> int:
    """The number of n-grams of one to n words."""
    return sum(max(0, len(tokens) - k + 1) for k in range(1, n + 1))


def cider_d(
    candidate: str, references: Sequence[str], weights: Weights, *, n: int, sigma: float, form: str
) -> list[float]:
    """The similarity for each order, before the mean over orders and the factor of 10."""
    tokens, similarities = words(candidate), [0.0] * n
    for reference in references:
        others = words(reference)
        if form == "paper":
            totals = (max(1, terms(tokens, n)), max(1, terms(others, n)))
            difference = len(tokens) - len(others)
        else:
            # The published code takes counts as they are, and the number of bigrams for the length.
            totals = (1, 1)
            difference = max(0, len(tokens) - 1) - max(0, len(others) - 1)
        penalty = math.exp(-(difference**2) / (2 * sigma**2))
        for k in range(1, n + 1):
            a, b = vector(tokens, k, weights, totals[0]), vector(others, k, weights, totals[1])
            similarities[k - 1] += penalty * cosine(a, b, clip=True) / len(references)
    return similarities


def cider(
    candidate: str,
    references: Sequence[str],
    weights: Weights,
    *,
    n: int,
    pooling: str = "mean",
    stem: Stem = as_is,
) -> list[float]:
    """The similarity for each order, before they are combined."""
    tokens = [stem(word) for word in words(candidate)]
    similarities = []
    for k in range(1, n + 1):
        each = [
            cosine(
                vector(tokens, k, weights, 1),
                vector([stem(word) for word in words(reference)], k, weights, 1),
                clip=False,
            )
            for reference in references
        ]
        similarities.append(max(each) if pooling == "max" else sum(each) / len(each))
    return similarities


def combined(similarities: Sequence[float], order: int | None, weights: str = "uniform") -> float:
    """One number from the similarities of all orders."""
    if order is not None:
        return similarities[order - 1]
    factors = [math.exp(k) if weights == "exponential" else 1.0 for k in range(len(similarities))]
    return sum(f * s for f, s in zip(factors, similarities, strict=True)) / sum(factors)


def weights_of(metric: CiderMetric, references: Sequence[Sequence[str]], stem: Stem) -> Weights:
    if metric.frequencies == "uniform":
        return Weights(None)
    if metric.frequencies == "references":
        return Weights(document_frequencies(references, metric.n, stem), len(references))
    return Weights(metric.frequencies.counts(), metric.frequencies.images)


def _cider_d(metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]) -> Scored:
    assert isinstance(metric, CiderD)
    weights = weights_of(metric, references, as_is)
    rows = [
        cider_d(c, r, weights, n=metric.n, sigma=metric.sigma, form=metric.form)
        for c, r in zip(candidates, references, strict=True)
    ]
    return means([[10 * combined(row, metric.order)] for row in rows])


def _stem(word: str) -> str:
    return STEMS.get(word, word)


def _cider(metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]) -> Scored:
    assert isinstance(metric, Cider2015)
    stem = _stem if metric.stem else as_is
    weights = weights_of(metric, references, stem)
    rows = [
        cider(c, r, weights, n=metric.n, pooling=metric.pooling, stem=stem)
        for c, r in zip(candidates, references, strict=True)
    ]
    return means([[combined(row, metric.order, metric.weights)] for row in rows])


def other_corpus() -> DocumentFrequencies:
    corpus = {0: ["a dog runs", "the dog"], 1: ["a dog runs", "a a café"], 2: ["the dogs on the 25\u00a01/2"]}
    return DocumentFrequencies.of(References(corpus), tokenizer=Tokenizer(kind="none"))


def _cases() -> Iterator[Metric]:
    for frequencies in ("references", "uniform", other_corpus()):
        for form in ("code", "paper"):
            yield CiderD(form=form, frequencies=frequencies)
        yield Cider2015(frequencies=frequencies, stem=False)
        yield Cider2015(pooling="max", frequencies=frequencies, stem=False)
    for n in range(1, 5):
        yield CiderD(n=n, sigma=2.0)
        yield CiderD(order=n, form="paper")
        yield Cider2015(n=n)
        yield Cider2015(order=n)
    yield Cider2015(weights="exponential")
    yield Cider2015(pooling="max", weights="exponential")
    yield Cider2015(frequencies="uniform")


TWINS = {CiderD: _cider_d, Cider2015: _cider}
CASES = list(_cases())
