"""Captions that are tokenized as if they were alone score the same in any order and any part of a set."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from capeval import DocumentFrequencies, Tokenizer, tokenize
from capeval.data.captions import ImageId
from capeval.metrics import METRICS, Metric
from capeval.tokenizers import Context
from tests.properties.every_metric import every_metric

ALONE = Tokenizer(context="caption")
# Ends of captions after which the tokenizer looks ahead, and the texts that follow.
ENDS = ("vitamin B.", "Acme Co.", "a dog, etc.", "a cat :)", "section A.", "a dog runs")
BEGINNINGS = ("A ", "The ", "a ", " ", "9 ", "")
CAPTIONS = st.builds(str.__add__, st.sampled_from(BEGINNINGS), st.sampled_from(ENDS))
Image = tuple[list[str], str]
IMAGES = st.lists(st.tuples(st.lists(CAPTIONS, min_size=1, max_size=3), CAPTIONS), min_size=2, max_size=8)


def rows(metric: Metric, images: dict[ImageId, Image]) -> dict[ImageId, NDArray[np.float64]]:
    references = {image: group for image, (group, _) in images.items()}
    candidates = {image: caption for image, (_, caption) in images.items()}
    scores = metric.prepare(references, tokenizer=ALONE).score(candidates)
    return dict(zip(scores.image_ids, scores.statistics, strict=True))


@every_metric
@given(images=IMAGES, seed=st.integers(0, 2**32))
def test_any_order_and_any_part_has_the_same_rows(name: str, images: list[Image], seed: int) -> None:
    metric = METRICS[name]()
    everything: dict[ImageId, Image] = dict(enumerate(images))
    weighed = metric.with_document_frequencies(
        DocumentFrequencies.of(
            {image: group for image, (group, _) in everything.items()},
            tokenizer=ALONE,
            stem=metric.frequency_unit == "stems",
        )
    )
    whole = rows(weighed, everything)
    draws = random.Random(seed)
    order = draws.sample(sorted(whole, key=str), len(whole))
    cut = draws.randint(0, len(order))
    for part in (order, order[:cut], order[cut:]):
        if part:
            alone = rows(weighed, {image: everything[image] for image in part})
            for image in part:
                np.testing.assert_array_equal(alone[image], whole[image])


@given(captions=st.lists(CAPTIONS, min_size=1, max_size=8))
def test_tokens_are_those_of_a_list_of_one(captions: list[str]) -> None:
    alone = [tokenize([caption])[0] for caption in captions]
    assert tokenize(captions, ALONE) == alone


@pytest.mark.parametrize(("context", "tokens"), [("file", "b"), ("caption", "b.")])
def test_the_context_decides_on_a_period(context: Context, tokens: str) -> None:
    captions = ["a bottle of vitamin B.", "A dog"]
    assert tokenize(captions, Tokenizer(context=context))[0][-1] == tokens


def test_the_context_is_in_the_name_unless_it_is_the_reference_s() -> None:
    assert str(Tokenizer(context="caption")) == "ptb-3.4.1-lower-punctuation:reference-context:caption"
    assert str(Tokenizer()) == "ptb-3.4.1-lower-punctuation:reference"
