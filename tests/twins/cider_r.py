"""CIDEr-R in plain Python: CIDEr-D's cosine with the penalties of `pycocoevalcap/ciderR/utils.py`."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from capeval import CiderR
from capeval.metrics import Metric
from tests.twins.cider import Weights, as_is, combined, cosine, other_corpus, vector, weights_of
from tests.twins.scoring import Scored, means
from tests.twins.text import words


def repetition_penalty(candidate: str, reference: str) -> float:
    """The geometric mean of 1 / (1 + difference in counts) over the different words of the candidate."""
    counts, others = (Counter(re.findall(r"\w+", text)) for text in (candidate, reference))
    penalties = [
        1 / (1 + abs(count - others[word])) if word in others else 1 / count for word, count in counts.items()
    ]
    return math.prod(math.pow(penalty, 1 / len(penalties)) for penalty in penalties)


def length_penalty(candidate: str, reference: str) -> float:
    """A Gaussian of the difference in numbers of bigrams plus 1, relative to those of the reference."""
    length, other = (1 + max(0, len(words(text)) - 1) for text in (candidate, reference))
    return math.exp(-((length - other) ** 2) / other**2)


def cider_r(candidate: str, references: Sequence[str], weights: Weights, n: int) -> list[float]:
    """The similarity for each order, before the mean over orders and the factor of 10."""
    similarities = [0.0] * n
    for reference in references:
        repetition, length = repetition_penalty(candidate, reference), length_penalty(candidate, reference)
        for k in range(1, n + 1):
            a, b = (vector(words(text), k, weights, 1) for text in (candidate, reference))
            similarity = repetition**0.8 * length**0.2 * cosine(a, b, clip=True)
            similarities[k - 1] += similarity / len(references)
    return similarities


def _cider_r(metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]) -> Scored:
    assert isinstance(metric, CiderR)
    weights = weights_of(metric, references, as_is)
    rows = [cider_r(c, r, weights, metric.n) for c, r in zip(candidates, references, strict=True)]
    return means([[10 * combined(row, metric.order)] for row in rows])


def _cases() -> Iterator[Metric]:
    yield CiderR()
    yield CiderR(n=2)
    yield CiderR(order=3)
    yield CiderR(frequencies="uniform")
    yield CiderR(frequencies=other_corpus())


TWINS = {CiderR: _cider_r}
CASES = list(_cases())
