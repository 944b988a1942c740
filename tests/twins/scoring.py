"""Metrics scored by capeval and by their plain-Python twins, through one face."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from capeval import Bleu, Candidates, Cider, CiderD, References, RougeL, RougeN, RougeS, Tokenizer
from capeval.metrics import Metric
from tests.twins import bleu, cider, rouge

# Stems of the words that tests use, for the twin; the others are their own stems.
STEMS = {
    "running": "run",
    "runs": "run",
    "dogs": "dog",
    "horses": "hors",
    "fishes": "fish",
    "fishing": "fish",
}


@dataclass(frozen=True)
class Scored:
    """Corpus scores, and for each score one number an image."""

    corpus: list[float]
    per_image: list[list[float]]


class Score(Protocol):
    def __call__(
        self, metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]
    ) -> Scored: ...


def native(metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]) -> Scored:
    """capeval's scores of captions that are tokens already."""
    prepared = metric.prepare(
        References({image: list(texts) for image, texts in enumerate(references)}),
        tokenizer=Tokenizer(kind="none"),
    )
    scores = prepared.score(Candidates(dict(enumerate(candidates))))
    return Scored(list(scores.corpus.values()), [column.tolist() for column in scores.per_image.values()])


def twin(metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]) -> Scored:
    """The twin's scores of captions that are tokens already."""
    return TWINS[type(metric)](metric, references, candidates)


def _means(rows: list[list[float]]) -> Scored:
    columns = [list(column) for column in zip(*rows, strict=True)]
    return Scored([sum(column) / len(column) for column in columns], columns)


def _bleu(metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]) -> Scored:
    assert isinstance(metric, Bleu)
    order, brevity = max(metric.orders), metric.brevity
    counts = [bleu.statistics(c, r, order, brevity) for c, r in zip(candidates, references, strict=True)]
    rows = [bleu.score(count, order, brevity) for count in counts]
    means = _means([[row[n - 1] for n in metric.orders] for row in rows])
    if metric.level == "sentence":
        return means
    whole = bleu.score([sum(column) for column in zip(*counts, strict=True)], order, brevity)
    return Scored([whole[n - 1] for n in metric.orders], means.per_image)


def _rouge(score: Callable[[Metric, str, Sequence[str]], float]) -> Score:
    def scored(metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]) -> Scored:
        return _means([[score(metric, c, r)] for c, r in zip(candidates, references, strict=True)])

    return scored


def _rouge_l(metric: Metric, candidate: str, references: Sequence[str]) -> float:
    assert isinstance(metric, RougeL)
    return rouge.rouge_l(candidate, references, metric.beta)


def _rouge_n(metric: Metric, candidate: str, references: Sequence[str]) -> float:
    assert isinstance(metric, RougeN)
    return rouge.rouge_n(candidate, references, metric.n)


def _rouge_s(metric: Metric, candidate: str, references: Sequence[str]) -> float:
    assert isinstance(metric, RougeS)
    return rouge.rouge_s(candidate, references, metric.distance, metric.beta)


def _weights(metric: CiderD | Cider, references: Sequence[Sequence[str]], stem: cider.Stem) -> cider.Weights:
    if metric.frequencies == "uniform":
        return cider.Weights(None)
    if metric.frequencies == "references":
        return cider.Weights(cider.document_frequencies(references, metric.n, stem), len(references))
    return cider.Weights(metric.frequencies.counts(), metric.frequencies.images)


def _cider_d(metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]) -> Scored:
    assert isinstance(metric, CiderD)
    weights = _weights(metric, references, cider.as_is)
    rows = [
        cider.cider_d(c, r, weights, n=metric.n, sigma=metric.sigma, form=metric.form)
        for c, r in zip(candidates, references, strict=True)
    ]
    return _means([[10 * cider.combined(row, metric.order)] for row in rows])


def _stem(word: str) -> str:
    return STEMS.get(word, word)


def _cider(metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]) -> Scored:
    assert isinstance(metric, Cider)
    stem = _stem if metric.stem else cider.as_is
    weights = _weights(metric, references, stem)
    rows = [
        cider.cider(c, r, weights, n=metric.n, pooling=metric.pooling, stem=stem)
        for c, r in zip(candidates, references, strict=True)
    ]
    return _means([[cider.combined(row, metric.order, metric.weights)] for row in rows])


TWINS: Mapping[type[Metric], Score] = {
    Bleu: _bleu,
    RougeL: _rouge(_rouge_l),
    RougeN: _rouge(_rouge_n),
    RougeS: _rouge(_rouge_s),
    CiderD: _cider_d,
    Cider: _cider,
}
