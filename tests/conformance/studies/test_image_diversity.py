"""Div-n, mBLEU, Self-CIDEr and novelty, as the published code of each computed them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from capeval import DocumentFrequencies, References, Tokenizer
from capeval.studies.diversity.images import ImageDiversity, ImageDiversityOptions, image_diversity

GOLDEN = json.loads(Path(__file__).with_name("golden_image_diversity.json").read_text(encoding="utf-8"))
TOKENS = Tokenizer(kind="none")
CAPTIONS = References(GOLDEN["captions"])


def measured(options: ImageDiversityOptions = ImageDiversityOptions()) -> ImageDiversity:  # noqa: B008
    frequencies = DocumentFrequencies.of(References(GOLDEN["corpus"]), tokenizer=TOKENS)
    training = References({1: GOLDEN["training"]})
    return image_diversity(CAPTIONS, options, training=training, frequencies=frequencies, tokenizer=TOKENS)


def test_the_numbers_of_the_published_code() -> None:
    found = measured()
    assert found.div.T.tolist() == GOLDEN["div"]
    assert found.words == GOLDEN["words"]
    assert found.mbleu == pytest.approx(GOLDEN["mbleu"], rel=1e-14)
    assert found.image_mbleu == pytest.approx(np.array(GOLDEN["image_mbleu"]), rel=1e-14)
    # Captions that are all the same have 0 but for rounding, which square roots of singular values enlarge.
    assert found.self_cider == pytest.approx(GOLDEN["self_cider"], rel=1e-12, abs=1e-7)
    assert (found.distinct, found.novel) == (GOLDEN["distinct"], GOLDEN["novel"])


def test_the_cosine_of_other_code() -> None:
    found = measured(ImageDiversityOptions(similarity="CIDEr-2015")).self_cider
    assert found == pytest.approx(GOLDEN["self_cider_cosine"], rel=1e-7, abs=1e-7)
    assert (abs(found - measured().self_cider) > 1e-3).any()
