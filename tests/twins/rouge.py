"""ROUGE from equations 4 to 10 of the COCO Captions paper."""

from collections import Counter
from collections.abc import Callable, Sequence

from capeval import RougeL, RougeN, RougeS
from capeval.metrics import Metric
from tests.twins.scoring import Score, Scored, means
from tests.twins.text import ngrams, spaced, words


def f_measure(precision: float, recall: float, beta: float) -> float:
    if precision == 0 or recall == 0:
        return 0.0
    return (1 + beta**2) * precision * recall / (recall + beta**2 * precision)


def common_subsequence(a: Sequence[str], b: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(b) + 1)
    for word in a:
        above = row
        row = [0]
        for i, other in enumerate(b):
            row.append(above[i] + 1 if word == other else max(above[i + 1], row[i]))
    return row[-1]


def rouge_l(candidate: str, references: Sequence[str], beta: float) -> float:
    tokens, others = spaced(candidate), [spaced(reference) for reference in references]
    lengths = [common_subsequence(tokens, other) for other in others]
    precision = max(length / len(tokens) for length in lengths)
    recall = max(length / len(other) for length, other in zip(lengths, others, strict=True))
    return f_measure(precision, recall, beta)


def rouge_n(candidate: str, references: Sequence[str], n: int) -> float:
    counts = ngrams(words(candidate), n)
    known = [ngrams(words(reference), n) for reference in references]
    total = sum(sum(other.values()) for other in known)
    return sum((counts & other).total() for other in known) / total if total else 0.0


def skip_bigrams(tokens: Sequence[str], distance: int | None) -> Counter[tuple[str, str]]:
    """Pairs of words in order, neighbors being 1 apart."""
    return Counter(
        (tokens[i], tokens[j])
        for i in range(len(tokens))
        for j in range(i + 1, len(tokens))
        if distance is None or j - i <= distance
    )


def rouge_s(candidate: str, references: Sequence[str], distance: int | None, beta: float) -> float:
    counts = skip_bigrams(words(candidate), distance)
    known = [skip_bigrams(words(reference), distance) for reference in references]
    matched = [(counts & other).total() for other in known]
    precision = max(match / max(1, counts.total()) for match in matched)
    recall = max(match / max(1, other.total()) for match, other in zip(matched, known, strict=True))
    return f_measure(precision, recall, beta)


def _rouge(score: Callable[[Metric, str, Sequence[str]], float]) -> Score:
    def scored(metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]) -> Scored:
        return means([[score(metric, c, r)] for c, r in zip(candidates, references, strict=True)])

    return scored


def _rouge_l(metric: Metric, candidate: str, references: Sequence[str]) -> float:
    assert isinstance(metric, RougeL)
    return rouge_l(candidate, references, metric.beta)


def _rouge_n(metric: Metric, candidate: str, references: Sequence[str]) -> float:
    assert isinstance(metric, RougeN)
    return rouge_n(candidate, references, metric.n)


def _rouge_s(metric: Metric, candidate: str, references: Sequence[str]) -> float:
    assert isinstance(metric, RougeS)
    return rouge_s(candidate, references, metric.distance, metric.beta)


TWINS = {RougeL: _rouge(_rouge_l), RougeN: _rouge(_rouge_n), RougeS: _rouge(_rouge_s)}
CASES = [
    *(RougeL(beta=beta) for beta in (0.5, 1.2, 3.0)),
    *(RougeN(n=n) for n in range(1, 5)),
    *(RougeS(distance=distance) for distance in (1, 4, None)),
    RougeS(beta=2.0),
]
