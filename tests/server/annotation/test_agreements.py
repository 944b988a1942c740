"""Captions that agree too little with the others of their image are found."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from capeval.data.captions import ImageId
from capeval.datasets import nocaps
from capeval_server.annotation.core.agreement import LEAST_OTHERS, LIMIT, score_agreement
from tests.shared_data import shared_data


def small() -> dict[ImageId, list[str]]:
    words = ("dog", "cat", "bus", "boat", "kite")
    return {
        image: [
            f"a {word} in a field",
            f"a {word} on a field",
            f"the {word} in a field",
            f"one {word} in grass",
        ]
        for image, word in enumerate(words)
    }


def unlike(captions: Mapping[ImageId, list[str]]) -> list[tuple[ImageId, int]]:
    """Return the image and position of each caption that needs a review."""
    return [
        (image, place)
        for image, scores in score_agreement(captions).items()
        for place, score in enumerate(scores)
        if score < LIMIT
    ]


def test_a_caption_of_another_image_is_found() -> None:
    captions = small()
    assert unlike(captions) == []
    captions[2][1] = "two women play tennis"
    assert unlike(captions) == [(2, 1)]
    scores = score_agreement(captions)
    assert scores[2][1] < 0.01 < min(scores[0])


def test_captions_wait_for_three_others() -> None:
    captions = small()
    captions[2] = captions[2][:LEAST_OTHERS]
    assert set(score_agreement(captions)) == {0, 1, 3, 4}
    assert score_agreement({1: ["a dog"]}) == {}


def planted(captions: Mapping[ImageId, list[str]], part: float, seed: int) -> set[tuple[ImageId, int]]:
    """Replace some captions by captions of other images, and return the replaced ones."""
    rng = np.random.default_rng(seed)
    places = [(image, place) for image, texts in captions.items() for place in range(len(texts))]
    chosen = rng.choice(len(places), round(part * len(places)), replace=False)
    wrong = {places[number] for number in chosen}
    # Taken before any is replaced.
    others = [captions[image][place] for image, place in (places[n] for n in rng.permutation(len(places)))]
    images = list(captions)
    for number, (image, place) in enumerate(sorted(wrong, key=lambda each: (images.index(each[0]), each[1]))):
        captions[image][place] = next(text for text in others[number:] if text not in captions[image])
    return wrong


@pytest.mark.parametrize("seed", [20, 0])
def test_wrong_images_reach_the_review_queue_of_nocaps(seed: int) -> None:
    references = nocaps.load_captions(shared_data("nocaps") / "nocaps_val_captions.json.gz")
    captions: dict[ImageId, list[str]] = {image: list(texts) for image, texts in references.items()}
    assert sum(map(len, captions.values())) == 45_000
    wrong = planted(captions, 0.01, seed)
    queue = set(unlike(captions))
    assert len(wrong) == 450
    assert len(queue & wrong) / len(wrong) >= 0.9
    assert len(queue) / 45_000 <= 0.04
    assert len(queue) / 45_000 == pytest.approx(0.0312, abs=0.001)
