"""Diversity of several captions per image: values computed by hand and validation errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from capeval import References, Tokenizer
from capeval.errors import MismatchError, OptionError
from capeval.studies.diversity.images import ImageDiversity, ImageDiversityOptions, image_diversity
from capeval.studies.diversity.report import image_report

CAPTIONS = References({7: ["A dog.", "a dog runs", "two cats"], 3: ["a bus", "A bus!", "a bus", "more"]})


def test_by_hand() -> None:
    found = image_diversity(CAPTIONS)
    assert (found.image_ids, found.captions) == ((7, 3), 3)
    # "a dog", "a dog runs", "two cats": 5 words of 7, 3 pairs of words; "a bus" three times: 2 of 6, 1.
    assert found.div == pytest.approx(np.array([[5 / 7, 3 / 7, 1 / 7, 0], [2 / 6, 1 / 6, 0, 0]]), abs=1e-6)
    assert found.words == 6
    assert found.distinct == pytest.approx(4 / 6)
    assert found.novel is None
    assert found.image_mbleu[1, :2] == pytest.approx([1, 1])
    assert found.self_cider[1] == pytest.approx(0, abs=1e-6)
    assert 0 < found.self_cider[0] <= 1
    assert "df=captions:" in str(found.signatures["Self-CIDEr"])
    assert "tokenizer=none" in str(found.signatures["mBLEU"])


def test_captions_with_nothing_in_common_have_self_cider_1() -> None:
    apart = References({1: ["a b c", "d e f", "g h i"], 2: ["k l m", "n o p", "q r s"]})
    found = image_diversity(apart)
    assert found.self_cider == pytest.approx([1, 1])
    assert found.mbleu == pytest.approx([0, 0, 0, 0], abs=1e-6)
    same = image_diversity(References({1: ["a b c d"] * 3, 2: ["e f g h"] * 3}))
    assert same.self_cider == pytest.approx([0, 0], abs=1e-6)
    assert same.mbleu == pytest.approx([1, 1, 1, 1])


def test_no_weight_is_not_a_number() -> None:
    # Of one image all n-grams are in all images: they weigh nothing.
    assert np.isnan(image_diversity(References({1: ["a b", "c d"]})).self_cider[0])


def test_novel_captions_are_compared_as_tokens() -> None:
    training = References({1: ["A dog", "a bus."]})
    assert image_diversity(CAPTIONS, training=training).novel == pytest.approx(2 / 6)
    # "dog." and "dog" are different tokens if punctuation is kept.
    keep = Tokenizer(punctuation="keep")
    assert image_diversity(CAPTIONS, training=training, tokenizer=keep).novel == pytest.approx(5 / 6)


def test_the_first_captions_are_taken() -> None:
    found = image_diversity(CAPTIONS, ImageDiversityOptions(captions=2))
    assert found.captions == 2
    first = References({7: CAPTIONS[7][:2], 3: CAPTIONS[3][:2]})
    assert found.mbleu.tolist() == image_diversity(first).mbleu.tolist()


@pytest.mark.parametrize("name", ["CIDEr", "cider", "Cider", "CIDEr-D"])
def test_cider_means_cider_d(name: str) -> None:
    assert ImageDiversityOptions(similarity=name).similarity == "CIDEr-D"


@pytest.mark.parametrize(
    ("captions", "options", "error", "message"),
    [
        (
            {1: ["a"], 2: ["b", "c"]},
            {},
            MismatchError,
            "must have at least 2 captions; image 1 is below this number",
        ),
        (
            {1: ["a", "b"]},
            {"captions": 3},
            MismatchError,
            "must have at least 3 captions; image 1 is below this number",
        ),
        ({1: ["a", "b"]}, {"captions": 1}, OptionError, "'captions' must be an integer of at least 2"),
        ({1: ["a", "b"]}, {"similarity": "BLEU"}, OptionError, "'similarity' must be one of CIDEr-D, CIDEr"),
    ],
)
def test_what_is_refused(
    captions: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        image_diversity(References(captions), ImageDiversityOptions(**options))


def test_report() -> None:
    found: dict[str, ImageDiversity] = {
        "a": image_diversity(CAPTIONS),
        "b": image_diversity(CAPTIONS, training=CAPTIONS),
    }
    (grid,) = image_report(found).tables.values()
    assert grid.columns[:4] == ("System", "Images", "Captions", "Div-1")
    assert [row[-1].value for row in grid.rows] == [None, 0.0]
    assert len({len(row) for row in grid.rows}) == 1
