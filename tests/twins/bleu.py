"""BLEU from equations 1 to 3 of the COCO Captions paper, with the small numbers of the published code."""

import math
from collections.abc import Sequence
from typing import get_args

from capeval import Bleu
from capeval.metrics import Metric
from capeval.metrics.bleu import Brevity, Level
from tests.twins.scoring import Scored, means
from tests.twins.text import ngrams, words

TINY, SMALL = 1e-15, 1e-9


def reference_length(candidate: int, references: Sequence[int], brevity: str) -> float:
    if brevity == "shortest":
        return min(references)
    if brevity == "average":
        return sum(references) / len(references)
    # "closest", the shorter of two that are equally close; "none" doesn't use it.
    return min(references, key=lambda length: (abs(length - candidate), length))


def statistics(candidate: str, references: Sequence[str], order: int, brevity: str) -> list[float]:
    """Lengths of candidate and references, then matched and possible n-grams of each order."""
    tokens, others = words(candidate), [words(reference) for reference in references]
    matched = []
    for n in range(1, order + 1):
        counts, known = ngrams(tokens, n), [ngrams(other, n) for other in others]
        matched.append(
            sum(min(count, max(other[ngram] for other in known)) for ngram, count in counts.items())
        )
    possible = [max(0, len(tokens) - n + 1) for n in range(1, order + 1)]
    length = reference_length(len(tokens), [len(other) for other in others], brevity)
    return [len(tokens), length, *matched, *possible]


def score(counts: Sequence[float], order: int, brevity: str) -> list[float]:
    """BLEU-1 to BLEU-order of counts of one caption, or summed over captions."""
    precision, scores = 1.0, []
    for n in range(1, order + 1):
        precision *= (counts[1 + n] + TINY) / (counts[1 + order + n] + SMALL)
        scores.append(precision ** (1 / n))
    ratio = (counts[0] + TINY) / (counts[1] + SMALL)
    if brevity != "none" and ratio < 1:
        scores = [score * math.exp(1 - 1 / ratio) for score in scores]
    return scores


def _bleu(metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]) -> Scored:
    assert isinstance(metric, Bleu)
    order, brevity = max(metric.orders), metric.brevity
    counts = [statistics(c, r, order, brevity) for c, r in zip(candidates, references, strict=True)]
    rows = [score(count, order, brevity) for count in counts]
    each = means([[row[n - 1] for n in metric.orders] for row in rows])
    if metric.level == "sentence":
        return each
    whole = score([sum(column) for column in zip(*counts, strict=True)], order, brevity)
    return Scored([whole[n - 1] for n in metric.orders], each.per_image)


TWINS = {Bleu: _bleu}
CASES = [
    *(Bleu(brevity=brevity, level=level) for brevity in get_args(Brevity) for level in get_args(Level)),
    Bleu(orders=(4, 2)),
]
