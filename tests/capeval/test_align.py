"""METEOR's alignment as data."""

from __future__ import annotations

import math

import pytest

from capeval import Bleu, Meteor, align
from capeval.errors import CaptionError, OptionError
from capeval.metrics.meteor import STAGES


def test_every_stage_and_one_chunk() -> None:
    aligned = align("A man rides his bike.", "a man riding his bicycle")
    assert [match.stage for match in aligned.matches] == ["exact", "exact", "stem", "exact", "synonym"]
    assert [match.weight for match in aligned.matches] == [1.0, 1.0, 0.6, 1.0, 0.8]
    assert [match.chunk for match in aligned.matches] == [1] * 5
    assert aligned.chunks == 1
    assert [aligned.candidate[match.candidate.start] for match in aligned.matches] == list(aligned.candidate)
    assert (
        aligned.score
        == Meteor()
        .prepare({1: ["a man riding his bicycle"]})
        .score({1: "A man rides his bike."})
        .corpus["METEOR"]
    )


def test_paraphrases_match_several_words() -> None:
    aligned = align("a dog in front of a house", "a dog before a house")
    phrase = next(match for match in aligned.matches if match.stage == "paraphrase")
    assert " ".join(aligned.candidate[i] for i in phrase.candidate) == "in front of a"
    assert " ".join(aligned.reference[i] for i in phrase.reference) == "before a"


def test_chunks_are_numbered_along_the_reference() -> None:
    aligned = align("on a bed two cats sleep", "two cats sleep on a bed")
    assert [match.reference.start for match in aligned.matches] == sorted(
        match.reference.start for match in aligned.matches
    )
    assert [match.chunk for match in aligned.matches] == [1, 1, 1, 2, 2, 2]
    assert aligned.chunks == 2


def test_nothing_in_common() -> None:
    aligned = align("dogs", "seven oranges")
    assert (aligned.matches, aligned.chunks, aligned.score) == ((), 0, 0.0)
    assert math.isnan(aligned.penalty)
    assert align("", "a dog").candidate == ()


def test_fewer_stages() -> None:
    exact = Meteor(stages=("exact",), weights=(1.0,))
    assert len(align("a man rides", "a man riding", metric=exact).matches) == 2
    assert len(align("a man rides", "a man riding").matches) == 3


def test_options_are_checked() -> None:
    for options in (
        {"stages": ()},
        {"stages": ("exact", "exact"), "weights": (1.0, 1.0)},
        {"stages": ("guess",), "weights": (1.0,)},
        {"stages": STAGES, "weights": (1.0,)},
        {"alpha": 2.0},
        {"beta": -1.0},
        {"gamma": "much"},
        {"delta": math.nan},
    ):
        with pytest.raises(OptionError):
            Meteor(**options)


def test_captions_must_be_text() -> None:
    with pytest.raises(CaptionError):
        align(1, "a dog")  # type: ignore[arg-type]


def test_the_metric_must_be_meteor() -> None:
    with pytest.raises(OptionError, match=r"'metric' must be a Meteor \(got Bleu\("):
        align("a", "a", metric=Bleu())  # type: ignore[arg-type]
