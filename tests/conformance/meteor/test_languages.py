"""METEOR for languages other than English returns the results of METEOR 1.5."""

from __future__ import annotations

import json
import shutil

import pytest

from capeval import Meteor
from capeval.metrics.meteor import LANGUAGES
from tests.conformance.meteor.adapter import reference_statistics, score
from tests.conformance.meteor.languages import GOLDENS, WORDS, answered, cases

FOUND = json.loads(GOLDENS.read_text(encoding="utf-8"))["languages"]


def test_every_language_has_goldens() -> None:
    assert ["en", *FOUND] == list(LANGUAGES)
    for language, golden in FOUND.items():
        recorded = [(candidate, references) for candidate, references, _, _ in golden["cases"]]
        assert recorded == list(cases(language))


@pytest.mark.parametrize("language", WORDS)
def test_segments_and_corpus_equal_the_goldens(language: str) -> None:
    golden = FOUND[language]
    candidates, references, lines, scores = zip(*golden["cases"], strict=True)
    ours = score(candidates, references, metric=Meteor.of_language(language))
    assert max(scores) > 0.5 > min(scores)
    for candidate, found, value, line, expected in zip(
        candidates, ours.statistics, ours.scores, lines, scores, strict=True
    ):
        assert found == reference_statistics(line), candidate
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert ours.corpus == pytest.approx(golden["corpus"], rel=1e-12)


@pytest.mark.conformance
@pytest.mark.skipif(shutil.which("java") is None, reason="METEOR 1.5 needs Java")
@pytest.mark.parametrize("language", WORDS)
def test_the_goldens_are_what_meteor_answers(language: str) -> None:
    assert answered(language) == FOUND[language]
