"""Effect of the order of references on SPICE, which merges their scene graphs one by one."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

import capeval
from capeval import References, Spice
from capeval.errors import CaptionError, UnscoredError, UnscoredWarning
from capeval.tokenizers import TokenizedReferences
from tests.conformance.spice.test_spice import TOKENS, shared_file
from tests.spice_model import NEEDS_MODEL

pytestmark = NEEDS_MODEL

# Of these 948 images; pinned, so that the page of the metric stays true.
IMAGES, CHANGED = 948, 5


@pytest.mark.conformance
def test_the_order_of_references_matters_to_few_images() -> None:
    with gzip.open(shared_file("scores_dev.json.gz"), "rt", encoding="utf-8") as file:
        images = json.load(file)["human"]["images"]
    candidates = {each["id"]: each["test"] for each in images}
    before, after = (
        Spice().prepare(references, tokenizer=TOKENS).score(candidates)
        for references in (
            {each["id"]: each["refs"] for each in images},
            {each["id"]: each["refs"][::-1] for each in images},
        )
    )
    changed = (before.statistics != after.statistics).any(axis=1)
    assert (len(images), int(changed.sum())) == (IMAGES, CHANGED)
    assert after.corpus["SPICE"] == pytest.approx(before.corpus["SPICE"], abs=1e-4)


def test_a_category_without_tuples_has_no_score() -> None:
    spice = Spice(categories=("All", "Color", "Count"))
    references = {1: ["a red car"], 2: ["two cars"], 3: [""]}
    scores = spice.prepare(references, tokenizer=TOKENS).score({1: "a red car", 2: "a car", 3: ""})
    np.testing.assert_array_equal(scores.per_image["SPICE"], [1, 2 / 3, 0])
    np.testing.assert_array_equal(scores.per_image["SPICE-Color"], [1, np.nan, np.nan])
    np.testing.assert_array_equal(scores.per_image["SPICE-Count"], [np.nan, 0, np.nan])
    # A corpus score is the mean over the images that have one.
    assert list(scores.corpus.values()) == pytest.approx([5 / 9, 1, 0])


@pytest.mark.parametrize("text", ["dog " * 401, "dog " * 100_000], ids=["401 words", "100,000 words"])
def test_a_sentence_that_is_too_long_is_not_scored(text: str) -> None:
    with pytest.warns(UnscoredWarning, match="image 1 is not scored by SPICE .* more than 400 tokens"):
        report = capeval.evaluate({1: ["a dog"], 2: ["a dog"]}, {1: text, 2: "a dog"}, ["SPICE"])
    np.testing.assert_array_equal(report.per_image["SPICE"], [np.nan, 1])
    assert report.corpus["SPICE"] == 1
    words = len(text.split())
    with pytest.raises(CaptionError, match=rf"up to 400 tokens \(got one of {words} in the caption 'dog dog"):
        Spice().explain(text, ["a dog"])


def test_another_metrics_parse_does_not_hide_that_a_sentence_is_too_long() -> None:
    references = TokenizedReferences(References({1: ["a dog runs on the grass"]}))
    candidates = references.candidates(capeval.Candidates({1: "a dog"}))
    assert not np.isnan(Spice(longest=6).prepare(references).score(candidates).corpus["SPICE"])
    with pytest.warns(UnscoredWarning, match="more than 5 tokens"):
        assert np.isnan(Spice(longest=5).prepare(references).score(candidates).corpus["SPICE"])
    with pytest.raises(UnscoredError, match=r"image 1 is not scored by SPICE .* more than 5 tokens$"):
        Spice(longest=5, require_all=True).prepare(references)


def test_a_caption_may_have_any_number_of_sentences() -> None:
    text = "a dog runs . " * 400
    scores = Spice(text="raw").prepare({1: ["a dog runs"]}).score({1: text})
    assert scores.corpus == {"SPICE": 1.0}


def test_a_lone_surrogate_is_refused() -> None:
    for options in ("tokens", "raw"):
        with pytest.raises(CaptionError, match="a lone surrogate"):
            Spice(text=options).prepare({1: ["a dog"]}).score({1: "a dog\ud800"})
