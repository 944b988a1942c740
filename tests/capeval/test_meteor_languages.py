"""METEOR's options of other languages than English; its scores are in tests/conformance."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from capeval import Meteor, align, evaluate
from capeval.errors import OptionError
from capeval.metrics import METRICS
from capeval.metrics.meteor import LANGUAGES


def test_options_are_those_that_meteor_prints() -> None:
    german = Meteor.of_language("de")
    assert (german.stages, german.weights) == (("exact", "stem"), (1.0, 0.8))
    assert (german.alpha, german.beta, german.gamma, german.delta) == (0.95, 1.0, 0.55, 0.55)
    czech = Meteor.of_language("cs")
    assert (czech.stages, czech.weights, czech.delta) == (("exact",), (1.0,), 0.8)
    assert Meteor.of_language("en") == Meteor()
    assert pickle.loads(pickle.dumps(german)) == german


def test_names_and_signatures_say_the_language() -> None:
    report = evaluate(
        {1: ["Der Hund läuft", "Ein Hund"]}, {1: "der Hund lief"}, [Meteor.of_language("de"), "METEOR"]
    )
    assert list(report.corpus) == ["METEOR-de", "METEOR"]
    assert "language=de|" in str(report.signatures["METEOR-de"])
    assert "language" not in str(report.signatures["METEOR"])


def test_stems_and_letters_match() -> None:
    found = align("Schöne Straßen", "schönes STRASSE straße", metric=Meteor.of_language("de"))
    assert found.candidate == ("schöne", "straßen")
    assert [(match.reference.start, match.stage) for match in found.matches] == [(0, "stem"), (1, "stem")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"language": "de"},
            r"'stages' of language 'de' must be some of exact, stem \(got 'synonym'\); Meteor.o",
        ),
        ({"language": "cs", "stages": ("exact", "stem"), "weights": (1.0, 0.5)}, r"exact \(got 'stem'\)"),
        ({"language": "nl"}, r"'language' must be one of en, cs, .* \(got 'nl'\)"),
        ({"language": None}, r"'language' must be one of .* \(got None\)"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Meteor(**options)
    with pytest.raises(OptionError, match="'language' must be one of"):
        Meteor.of_language("german")


def test_names_in_the_registry() -> None:
    for language in LANGUAGES[1:]:
        assert METRICS[f"METEOR-{language}"]() == Meteor.of_language(language)
        assert Meteor.of_language(language).resources == Meteor().resources
