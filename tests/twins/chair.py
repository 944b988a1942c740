"""CHAIR in plain Python, for the words that tests use."""

from __future__ import annotations

from collections.abc import Sequence

from capeval import Chair
from capeval.metrics import Metric
from tests.twins.scoring import Scored
from tests.twins.text import words

# The classes of the words of tests; the other words are no objects.
CLASSES = {"dog": "dog", "dogs": "dog", "horses": "horse", "zebra": "zebra"}


def mentions(caption: str) -> list[str]:
    return [CLASSES[word] for word in words(caption) if word in CLASSES]


def _chair(metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]) -> Scored:
    wrong, number = [], []
    for candidate, group in zip(candidates, references, strict=True):
        present = {name for reference in group for name in mentions(reference)}
        found = mentions(candidate)
        wrong.append([name for name in found if name not in present])
        number.append(len(found))
    shares = [len(each) / max(1, count) for each, count in zip(wrong, number, strict=True)]
    captions = [float(bool(each)) for each in wrong]
    corpus = [sum(map(len, wrong)) / max(1, sum(number)), sum(captions) / len(captions)]
    return Scored(corpus, [shares, captions])


TWINS = {Chair: _chair}
CASES = [Chair(), Chair(form="words")]
