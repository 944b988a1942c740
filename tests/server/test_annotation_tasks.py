"""The kinds of task: what an item holds, what a browser gets, and what is stored of an answer."""

from __future__ import annotations

from typing import Any

import pytest

from capeval.errors import OptionError
from capeval_server.annotation.tasks import TASKS, task_named
from capeval_server.annotation.tasks.base import template_text
from capeval_server.annotation.tasks.write import LONGEST_CAPTION
from capeval_server.errors import AnswerError, CampaignError

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
        "item": {"reference": "a", "first": "b", "second": "c"},
        "shown": {"reference": "a", "left": "b", "right": "c"},
        "mirrored": {"reference": "a", "left": "c", "right": "b"},
        "answers": [
            ({"choice": "left"}, False, {"choice": "first"}),
            ({"choice": "right"}, False, {"choice": "second"}),
            ({"choice": "left"}, True, {"choice": "second"}),
            ({"choice": "right"}, True, {"choice": "first"}),
        ],
        "refused": [{}, {"choice": "equal"}, {"choice": ["left"]}, {"choice": "left", "first": "b"}],
        "wrong": [{"reference": "a", "first": "b"}, {"reference": "a", "first": "b", "second": ""}],
    },
    "pairwise": {
        "item": {"first": "b", "second": "c"},
        "shown": {"left": "b", "right": "c"},
        "mirrored": {"left": "c", "right": "b"},
        "answers": [({"choice": "left"}, True, {"choice": "second"})],
        "refused": [{"choice": None}, {"choice": "first"}],
        "wrong": [{"first": "b"}, {"first": "b", "second": "c", "reference": "a"}],
    },
}
KINDS = sorted(TASKS)


def test_each_kind_has_cases() -> None:
    assert set(CASES) == set(TASKS), "give each kind of task its cases in CASES"


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
def test_items_that_a_kind_cannot_use(kind: str) -> None:
    for wrong in CASES[kind]["wrong"]:
        with pytest.raises(CampaignError):
            TASKS[kind].payload(wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_the_texts_of_a_kind_ship(kind: str) -> None:
    for name in TASKS[kind].texts:
        assert template_text(name).startswith("# ")


def test_what_is_not_there() -> None:
    with pytest.raises(OptionError, match="'kind' must be one of"):
        task_named("unknown")
    for name in ("unknown", "../base", ""):
        with pytest.raises(OptionError, match="'text' must be one of"):
            template_text(name)
