"""Metrics scored by capeval and by their plain-Python twins, through one face.

The twin of a metric is in the module here that is named as its page, whose `TWINS` has what scores as each
class does, and `CASES` the options to compare. Where the two are compared otherwise, `COMPARED_IN` names the
tests that do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from capeval import Candidates, References, Tokenizer
from capeval.metrics import Metric


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
    score: Score = import_module(f"tests.twins.{metric.docs_page}").TWINS[type(metric)]
    return score(metric, references, candidates)


def means(rows: list[list[float]]) -> Scored:
    """Corpus scores that are the means of those per image."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    return Scored([sum(column) / len(column) for column in columns], columns)
