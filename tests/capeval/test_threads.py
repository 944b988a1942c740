"""Threads score with one prepared object at the same time, as on Python without the GIL."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from capeval import DocumentFrequencies, Evaluator, References
from capeval.metrics import registry
from tests.spice_model import METRIC_NAMES

THREADS, ROUNDS = 8, 6
WORDS = ("a", "brown", "dog", "runs", "on", "the", "grass", "near", "two", "sleeping", "cats")
REFERENCES = {image: [" ".join(WORDS[: 4 + image % 8]), " ".join(WORDS[image % 5 :])] for image in range(40)}


def _make_candidates(number: int) -> dict[int, str]:
    return {image: " ".join(WORDS[(image + number) % 6 :]) for image in REFERENCES}


@pytest.fixture(autouse=True)
def short_turns() -> Iterator[None]:
    """Let threads take turns as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.parametrize("name", METRIC_NAMES)
def test_a_prepared_metric_is_shared(name: str) -> None:
    prepared = registry.get_metric(name).prepare(REFERENCES)
    candidates = [_make_candidates(number) for number in range(THREADS)]
    expected = [prepared.score(each).statistics for each in candidates]
    together = Barrier(THREADS)

    def score(number: int) -> list[bool]:
        together.wait()
        scores = (prepared.score(candidates[number]).statistics for _ in range(ROUNDS))
        return [np.array_equal(rows, expected[number], equal_nan=True) for rows in scores]

    with ThreadPoolExecutor(THREADS) as pool:
        assert all(all(equal) for equal in pool.map(score, range(THREADS)))


def test_an_evaluator_and_frequencies_are_shared() -> None:
    evaluator = Evaluator(REFERENCES, ("BLEU", "ROUGE-L", "CIDEr-D"))
    expected = [evaluator.evaluate(_make_candidates(number)).corpus for number in range(THREADS)]
    references = References(REFERENCES)
    counted = DocumentFrequencies.of(references).counts()
    together = Barrier(THREADS)

    def work(number: int) -> None:
        together.wait()
        for _ in range(ROUNDS):
            assert evaluator.evaluate(_make_candidates(number)).corpus == expected[number]
            assert DocumentFrequencies.of(references).counts() == counted

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
