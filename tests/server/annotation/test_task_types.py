"""Task types: fields of an item, data sent to browsers, and stored answers."""

from __future__ import annotations

from typing import Any

import pytest

from capeval.errors import OptionError
from capeval_server.annotation.task_types import TASKS, task_named
from capeval_server.annotation.task_types.base import template_consent, template_text
from capeval_server.annotation.task_types.write import LONGEST_CAPTION
from capeval_server.core.errors import AnswerError, CampaignError

THUMB = {"precision": "5", "recall": "3", "fluency": "0.1", "conciseness": "0", "inclusive": "0"}

# Of each kind: an item, what its browser gets, raw answers with what is stored, and answers that are refused.
CASES: dict[str, dict[str, Any]] = {
    "write": {
        "item": {"keywords": ["cart", "person"]},
        "shown": {"keywords": ["cart", "person"]},
        "mirrored": {"keywords": ["cart", "person"]},
        "answers": [({"caption": " a  cart\nin a street "}, False, {"caption": "a cart in a street"})],
        "refused": [
            {},
            {"caption": ""},
            {"caption": " \n"},
            {"caption": 3},
            {"caption": "a\0b"},
            {"caption": "a\ud800b"},
            {"caption": "a" * (LONGEST_CAPTION + 1)},
            {"caption": "a", "other": "b"},
        ],
        "wrong": [{"keywords": "cart"}, {"keywords": [""]}, {"image": "x"}, {"keywords": [1]}],
    },
    "triplet": {
        "item": {"reference": "a", "first": "b", "second": "c", "first_by": "ours", "image_id": "7"},
        "shown": {"reference": "a", "left": "b", "right": "c"},
        "mirrored": {"reference": "a", "left": "c", "right": "b"},
        "answers": [
            ({"choice": "left"}, False, {"choice": "first"}),
            ({"choice": "right"}, False, {"choice": "second"}),
            ({"choice": "left"}, True, {"choice": "second"}),
            ({"choice": "right"}, True, {"choice": "first"}),
        ],
        "refused": [{}, {"choice": "equal"}, {"choice": ["left"]}, {"choice": "left", "first": "b"}],
        "wrong": [
            {"reference": "a", "first": "b"},
            {"reference": "a", "first": "b", "second": ""},
            {"reference": "a", "first": "b", "second": "c", "on_the_left": "b"},
        ],
    },
    "pairwise": {
        "item": {"first": "b", "second": "c", "first_by": "ours", "second_by": "human"},
        "shown": {"left": "b", "right": "c"},
        "mirrored": {"left": "c", "right": "b"},
        "answers": [({"choice": "left"}, True, {"choice": "second"})],
        "refused": [{"choice": None}, {"choice": "first"}],
        "wrong": [{"first": "b"}, {"first": "b", "second": "c", "reference": "a"}],
    },
    "m1": {
        "item": {"candidate": "b", "human": "c", "system": "ours"},
        "shown": {"left": "b", "right": "c"},
        "mirrored": {"left": "c", "right": "b"},
        "answers": [
            ({"choice": "left"}, False, {"choice": "better"}),
            ({"choice": "left"}, True, {"choice": "worse"}),
            ({"choice": "right"}, True, {"choice": "better"}),
            ({"choice": "equal"}, True, {"choice": "equal"}),
        ],
        "refused": [{"choice": "better"}, {"choice": "left", "system": "x"}],
        "wrong": [{"candidate": "b", "human": "c"}, {"candidate": "b", "human": "", "system": "x"}],
    },
    **{
        kind: {
            "item": {"caption": "b", "system": "ours"},
            "shown": {"caption": "b"},
            "mirrored": {"caption": "b"},
            "answers": [({"choice": choice}, True, {"choice": choice}) for choice in choices],
            "refused": [{"choice": "6"}, {"choice": 1}, {}],
            "wrong": [{"caption": "b"}, {"system": "x"}],
        }
        for kind, choices in (("m2", ("person", "machine")), ("m3", ("1", "5")), ("m4", ("1", "5")))
    },
    "m5": {
        "item": {"candidate": "b", "human": "c", "system": "ours"},
        "shown": {"left": "b", "right": "c"},
        "mirrored": {"left": "c", "right": "b"},
        "answers": [
            ({"choice": "yes"}, True, {"choice": "yes"}),
            ({"choice": "no"}, False, {"choice": "no"}),
        ],
        "refused": [{"choice": "left"}, {"choice": "maybe"}],
        "wrong": [{"candidate": "b", "human": "c", "system": "x", "caption": "d"}],
    },
    "rating": {
        "item": {"caption": "b", "system": "ours"},
        "shown": {"caption": "b"},
        "mirrored": {"caption": "b"},
        "answers": [(THUMB, False, THUMB)],
        "refused": [
            {"choice": "1"},
            {**THUMB, "recall": "6"},
            {**THUMB, "fluency": "-0.1"},
            {**THUMB, "x": "1"},
        ],
        "wrong": [{"caption": "b"}],
    },
}
# Other kinds are tested by their declarations, in `test_task_type_contract.py`.
KINDS = sorted(CASES)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_browser_gets(kind: str) -> None:
    task, case = TASKS[kind], CASES[kind]
    payload = task.payload(case["item"])
    assert task.shown(payload, mirrored=False) == case["shown"]
    assert task.shown(payload, mirrored=True) == case["mirrored"]
    assert task.has_sides == (case["shown"] != case["mirrored"])


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_stored_in_terms_of_the_item(kind: str) -> None:
    task, case = TASKS[kind], CASES[kind]
    payload = task.payload(case["item"])
    for raw, mirrored, stored in case["answers"]:
        assert task.answer(payload, raw, mirrored=mirrored) == stored
        assert task.agrees(stored, stored)
    for raw in case["refused"]:
        with pytest.raises(AnswerError):
            task.answer(payload, raw, mirrored=False)


@pytest.mark.parametrize("kind", KINDS)
def test_a_check_expects_what_can_be_stored(kind: str) -> None:
    task, case = TASKS[kind], CASES[kind]
    payload = task.payload(case["item"])
    for _, _, stored in case["answers"]:
        task.check_expected(payload, stored)
        for wrong in ({**stored, "other": "x"}, {name: f" {value}" for name, value in stored.items()}):
            with pytest.raises(AnswerError):
                task.check_expected(payload, wrong)


def test_a_check_can_expect_a_part_of_an_answer() -> None:
    rating = TASKS["rating"]
    payload = rating.payload(CASES["rating"]["item"])
    rating.check_expected(payload, {"precision": "1"})
    rating.check_expected(payload, {"fluency": "0.5"})
    with pytest.raises(AnswerError, match=r"'fluency' must be one of 0, .*, 0\.5 \(got '5'\)"):
        rating.check_expected(payload, {"fluency": "5"})


@pytest.mark.parametrize("kind", KINDS)
def test_items_that_a_kind_cannot_use(kind: str) -> None:
    for wrong in CASES[kind]["wrong"]:
        with pytest.raises(CampaignError):
            TASKS[kind].payload(wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_the_texts_of_a_kind_ship(kind: str) -> None:
    for name in TASKS[kind].texts:
        assert template_text(name).startswith("# ")


@pytest.mark.parametrize("name", ["m1", "m2", "pairwise"])
def test_texts_do_not_claim_that_sentences_fit_the_image(name: str) -> None:
    """The caption of another image can be a sentence too."""
    assert "may describe the image well, badly or not at all" in template_text(name)


# Instructions quoted from the papers, with emphasis as Markdown.
PRINTED = {
    "write-coco": (
        "Describe all the important parts of the scene.",
        "Do not start the sentences with 'There is'.",
        "Do not describe unimportant details.",
        "Do not describe things that might have happened in the future or past.",
        "Do not describe what a person might say.",
        "Do not give people proper names.",
        "The sentences should contain at least 8 words.",
    ),
    "write-nocaps": (
        "Describe the image in one sentence",
        "In each HIT you must describe 5 images.",
        "Describe all the **important parts** of the scene.",
        "The sentence should contain at least **8 words**.",
        "Avoid making spelling errors in your description.",
        "We provide keywords that may help identify some of the objects in the image.",
        "It is not mandatory to mention any of the keywords.",
        "**Do not** start the sentences with 'There is' or 'There are'.",
        "**Do not** write your descriptions as 'An image containing...', 'A photo of...' or similar.",
        "**Do not** describe unimportant details.",
        "**Do not** describe things that might have happened in the future or past.",
        "**Do not** describe what a person in the image might say.",
        "**Do not** give people proper names.",
        "**Do not** use the text box to report an error with the HIT.",
    ),
    "write-pascal": ("Describe what is going on in the image",),
    "triplet": ("Which of the sentences, B or C, is more similar to sentence A?",),
    "pairwise": ("Pick the better description",),
}


@pytest.mark.parametrize("name", PRINTED)
def test_texts_are_those_of_the_papers(name: str) -> None:
    text = template_text(name)
    for printed in PRINTED[name]:
        assert printed in text


def test_choices_say_what_can_be_sent() -> None:
    for kind in KINDS:
        task = TASKS[kind]
        payload = task.payload(CASES[kind]["item"])
        named = {name: list(choices.labels) for name, choices in task.choices.items()}
        assert bool(named) == (kind != "write")
        for place in range(max(map(len, named.values()), default=0)):
            raw = {name: choices[min(place, len(choices) - 1)] for name, choices in named.items()}
            assert task.answer(payload, raw, mirrored=False)


def test_what_is_not_there() -> None:
    with pytest.raises(OptionError, match="'kind' must be one of"):
        task_named("unknown")
    for name in ("unknown", "../base", ""):
        with pytest.raises(OptionError, match="'text' must be one of"):
            template_text(name)


@pytest.mark.parametrize("name", list(TASKS))
def test_the_consent_is_about_what_workers_do(name: str) -> None:
    text = template_consent(TASKS[name])
    assert ("Your sentences are published" in text) == bool(TASKS[name].written)
    assert ("Your answers are published" in text) != bool(TASKS[name].written)
