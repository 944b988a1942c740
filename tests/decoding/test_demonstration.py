"""The language model, and captions with real words that mention the objects that they are given."""

from __future__ import annotations

import time

import numpy as np
import pytest
from click.testing import CliRunner

from capeval import tokenize
from capeval.cli.app import app
from capeval.datasets import coco
from capeval.datasets.word_forms import load_word_forms
from capeval.errors import OptionError
from capeval_decoding.captions import build_vocabulary
from capeval_decoding.demonstration import Demonstration
from capeval_decoding.trigrams import TrigramModel

CAPTIONS = [text.split() for text in ("a dog runs", "a dog sits", "a cat sits", "a dog runs")]
VOCABULARY = build_vocabulary(CAPTIONS, least=2, more=["zebra"])
MODEL = TrigramModel.fit(CAPTIONS, VOCABULARY)


def chances(*words: str) -> dict[str, float]:
    """The probability of each word after the words of a caption."""
    numbers = [VOCABULARY.boundary, VOCABULARY.boundary, *VOCABULARY.encode(words)]
    logs, state = MODEL.step(np.array(numbers[-1:]), np.array(numbers[-2:-1]))
    assert state.tolist() == numbers[-1:]
    with np.errstate(under="ignore"):
        return dict(zip(VOCABULARY.words, np.exp(logs[0]).tolist(), strict=True))


def test_the_vocabulary_has_what_occurs_often_and_what_is_asked_for() -> None:
    assert VOCABULARY.words[2:] == ("a", "dog", "runs", "sits", "zebra")
    more = ["bee", "dog", "@@UNKNOWN@@"]
    assert build_vocabulary(CAPTIONS, least=3, more=more).words[2:] == ("a", "bee", "dog")
    with pytest.raises(OptionError, match="'least' must be an integer of at least 1"):
        build_vocabulary(CAPTIONS, least=0)
    with pytest.raises(OptionError, match=r"'least' must be at most 4, .* \(got 5\)"):
        build_vocabulary(CAPTIONS, more=["zebra"])


def test_probabilities_by_hand() -> None:
    # 16 tokens are said: a 4, dog 3, cat (unknown) 1, runs 2, sits 2, the end 4.
    zebra = 0.75 * 6 / 16 / 7
    runs = (2 - 0.75) / 16 + zebra
    unknown = (1 - 0.75) / 16 + zebra
    # After "dog" 3 tokens of 2 kinds follow, and after "a dog" the same.
    after_dog = (2 - 0.75) / 3 + 0.5 * runs
    after_a_dog = (2 - 0.75) / 3 + 0.5 * after_dog
    never = 0.25 * unknown
    assert chances("a", "dog")["runs"] == pytest.approx(after_a_dog / (1 - never))
    assert chances("a", "dog")["zebra"] == pytest.approx(0.25 * zebra / (1 - never))
    # No word is known to follow "zebra".
    assert chances("dog", "zebra")["runs"] == pytest.approx(runs / (1 - unknown))


def test_probabilities_add_up_and_the_unknown_word_is_never_said() -> None:
    for words in ((), ("a",), ("a", "dog"), ("a", "cat"), ("zebra", "zebra"), ("dog", "runs")):
        after = chances(*words)
        assert sum(after.values()) == pytest.approx(1)
        assert after["@@UNKNOWN@@"] == 0
        assert all(chance > 0 for word, chance in after.items() if word != "@@UNKNOWN@@")
    assert max(chances().items(), key=lambda each: each[1])[0] == "a"
    assert chances("dog", "runs")["@@BOUNDARY@@"] > 0.8
    with pytest.raises(OptionError, match="'captions' must contain at least one caption"):
        TrigramModel.fit([], VOCABULARY)


def test_captions_of_many_rows_are_those_of_one() -> None:
    rows = np.array([2, 3, 2, 1]), np.array([1, 2, 1, 1])
    together, _ = MODEL.step(*rows)
    for row, (last, before) in enumerate(zip(*rows, strict=True)):
        alone, _ = MODEL.step(np.array([last]), np.array([before]))
        np.testing.assert_array_equal(together[row], alone[0])


def test_every_constraint_is_met_with_real_words_in_a_minute() -> None:
    begin = time.process_time()
    forms = load_word_forms()
    captions = [text for texts in coco.load_captions("val2014").values() for text in texts]
    demonstration = Demonstration(tokenize(captions), forms)
    usual = demonstration.make_example(())
    drawn = demonstration.draw_classes(20)
    assert len(set(drawn)) == 20
    assert drawn == demonstration.draw_classes(20)
    for objects in drawn:
        found = demonstration.make_example(objects)
        assert found.objects == objects
        assert found.caption is not None
        assert found.log_probability is not None
        for name in objects:
            phrases = [f" {phrase} " for phrase in forms.phrases[name]]
            assert any(phrase in f" {found.caption} " for phrase in phrases), (name, found.caption)
        # A caption that need not mention anything is more probable.
        assert usual.log_probability is not None
        assert found.log_probability < usual.log_probability
    assert time.process_time() - begin < 60


def test_the_command_shows_captions_of_objects() -> None:
    chosen = ["baselines", "demo", "--objects", "red panda, bench", "--objects", "harp"]
    shown = CliRunner().invoke(app, chosen)
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert lines[3].startswith("red panda, bench ")
    assert "red panda" in lines[3][18:]
    assert "harp" in lines[4][18:]
    assert "Captions that mention all of their objects: 2 of 2" in shown.output
    wrong = CliRunner().invoke(app, ["baselines", "demo", "--objects", "unicorn"])
    assert isinstance(wrong.exception, OptionError)
