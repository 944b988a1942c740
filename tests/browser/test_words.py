"""The page counts words as capeval's tokenizer does, while they are typed."""

from __future__ import annotations

import gzip
import json
import random

import pytest
from playwright.sync_api import Browser, Page

from capeval.datasets import coco
from capeval.tokenizers import tokenize
from tests.server.processes import PROJECT
from tests.shared_data import shared_data

HARD = [
    "",
    " \n ",
    "A dog, isn't it?",
    "y'all can't cannot; gonna, wanna, gotta, lemme, gimme",
    "ma'am at five o'clock, rock'n'roll, 'tis, 'twas, d'ye",
    "the dogs' bowl, the dog's, DON'T, He'll she'd I'm they're we've",
    "a po'boy, camel'l, Ho'ohu, graffiti'ed, ski'ing",
    "a well-known t-shirt - red -- black/white and/or 3-year-old man's",
    "$5 and 5% of #1, +9 or 10+, -5 degrees",
    "1,000 kg, 3.5 m, a .5, eggplant,2 carrots, 1st, '50s, 5x5",
    "10:30 10:30am 9:00PM 10pm 25 1/2 and 1 1/2 of 3/4",
    "(a dog) [b] {c} e.g. the U.S. and Mr. Smith",
    "dog--cat, dog\u2014cat \u2013 dog",
    "wow!!! what?! no?? ... \u2026 end",
    "a cafe\u0301 na\u00efve Z\u00fcrich \u72d7 \u5728 \u8349",
    "a dog \U0001f415 runs",
    "\u201cquoted\u201d \u2018text\u2019 \"plain\" 'single' `tick`",
    "dog,cat;bird:fish",
    "one\ttwo\nthree\u00a0four",
    "A&B a&b AT&T M&Ms M&M's m&ms",
    "~ ^ * + = < > | / % # @ & _ \u00ac \u00b4",
    "- -- --- ' '' \" ` ``",
]


@pytest.fixture
def page(browser: Browser) -> Page:
    made = browser.new_page()
    made.add_script_tag(path=PROJECT / "server/src/capeval_server/static/capeval/words.js")
    return made


def differing(page: Page, captions: list[str]) -> list[tuple[str, int, int]]:
    """Return the captions for which the page and the tokenizer count different words, with both numbers."""
    counted = page.evaluate("captions => captions.map(countWords)", captions)
    words = [len(tokens) for tokens in tokenize(captions)]
    return [one for one in zip(captions, counted, words, strict=True) if one[1] != one[2]]


def test_hard_captions(page: Page) -> None:
    assert differing(page, HARD) == []


def test_ten_thousand_captions_of_nocaps(page: Page) -> None:
    path = shared_data("nocaps") / "nocaps_val_captions.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        captions = [caption for row in json.load(file) for caption in row["caption"]]
    assert len(captions) == 45_000
    assert differing(page, random.Random(1).sample(captions, 10_000)) == []


@pytest.mark.conformance
def test_all_captions_of_coco(page: Page) -> None:
    captions = [text for texts in coco.load_captions().values() for text in texts]
    assert len(captions) == 202_654
    assert differing(page, captions) == []
