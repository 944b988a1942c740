"""Random draws: pinned results for each seed, and the values that a seed depends on."""

from __future__ import annotations

import hashlib
import random

import numpy as np
import pytest

from capeval import References
from capeval._internal.random import (
    draw_in_rounds,
    draw_resample_counts,
    make_generator,
    make_named_generator,
    make_python_random,
    orders,
    split_in_halves,
    split_randomly,
)
from capeval.data.captions import ImageId
from capeval.data.held_out import hold_out, hold_out_several
from capeval.errors import MismatchError, OptionError


def test_generators_are_those_of_their_seed_and_name() -> None:
    assert make_generator(7).random() == np.random.default_rng(7).random()
    assert make_generator(7, 2).random() == np.random.default_rng((7, 2)).random()
    digest = hashlib.sha256(b"7/many/test").digest()[:16]
    expected = np.random.default_rng(int.from_bytes(digest))
    assert make_named_generator(7, "many/test").random() == expected.random()
    assert make_python_random(7).random() == random.Random(7).random()
    assert make_python_random(7, "HC").random() == random.Random("7/HC").random()
    with pytest.raises(OptionError, match=r"'seed' must be an integer of at least 0 \(got -1\)"):
        make_generator(-1)


def test_one_caption_is_held_out_by_the_seed() -> None:
    captions = {image: [f"{image} {number}" for number in range(2 + image % 4)] for image in range(50)}
    references, candidates = hold_out(References(captions), seed=5)
    choice = random.Random(5)
    for image, texts in captions.items():
        held = choice.randrange(len(texts))
        assert candidates[image] == [texts[held]]
        assert references[image] == texts[:held] + texts[held + 1 :]


def test_an_image_with_one_caption_has_none_to_hold_out() -> None:
    with pytest.raises(MismatchError, match="got 1 for image 2"):
        hold_out(References({1: ["a", "b"], 2: ["c"]}))


def test_several_captions_are_held_out_of_each_image() -> None:
    captions: dict[ImageId, list[str]] = {1: ["a", "b", "c", "a"], 2: ["d", "e", "f"]}
    candidates, references = hold_out_several(captions, 2, seed=3)
    assert {image: len(texts) for image, texts in candidates.items()} == {1: 2, 2: 2}
    for image, texts in captions.items():
        assert sorted(candidates[image] + references[image]) == sorted(texts)
    assert hold_out_several({2: captions[2]}, 2, seed=3)[0] == {2: candidates[2]}
    assert hold_out_several(captions, 2, seed=3) == (candidates, references)
    assert len({tuple(hold_out_several(captions, 2, seed=seed)[0][2]) for seed in range(20)}) > 1
    with pytest.raises(MismatchError, match=r"image 2 must have at least 4 captions.*got 3"):
        hold_out_several(captions, 3)
    with pytest.raises(OptionError, match="at least 1"):
        hold_out_several(captions, 0)


def test_items_are_dealt_out_in_their_order() -> None:
    groups = split_randomly("abcdefgh", [3, 5], seed=4)
    order = np.random.default_rng(4).permutation(8).tolist()
    assert groups == [["abcdefgh"[i] for i in sorted(part)] for part in (order[:3], order[3:])]


def test_halves_have_every_position_once() -> None:
    one, two = split_in_halves(48, seed=1)
    assert len(one) == len(two) == 24
    assert sorted([*one, *two]) == list(range(48))
    with pytest.raises(MismatchError, match="fewer than two"):
        split_in_halves(1)


def test_items_take_turns() -> None:
    drawn = draw_in_rounds("abc", 7, make_python_random(1))
    assert sorted(drawn[:3]) == sorted(drawn[3:6]) == ["a", "b", "c"]
    assert len(drawn) == 7


def test_orders_are_permutations() -> None:
    keys = np.random.default_rng(3).random((3, 4))
    expected = [np.argsort(keys[row, :size]).tolist() for row, size in enumerate((2, 4, 1))]
    assert orders([2, 4, 1], make_generator(3)) == expected


def test_a_resample_counts_what_is_drawn() -> None:
    drawn = np.random.default_rng(3).integers(0, 5, 5)
    assert draw_resample_counts(5, make_generator(3)).tolist() == [
        int((drawn == item).sum()) for item in range(5)
    ]
