"""COCO's val2014 through METEOR itself: all images, then candidates made hard on purpose."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable

import pytest

from capeval import tokenize
from capeval.data.held_out import hold_out
from capeval.datasets import coco
from tests.conformance.meteor.adapter import reference_statistics, score
from tests.conformance.meteor.java_meteor import JavaMeteor

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(shutil.which("java") is None, reason="LEFT OUT: METEOR itself needs java"),
]

HARD_IMAGES = 3000
FOREIGN = [
    "un chien court",
    "Ein Hund läuft über die Straße",
    "собака бежит",
    "一只狗在跑",
    "कुत्ता दौड़ता है",
    "ΟΔΟΣ",
]

Images = tuple[list[str], list[list[str]]]


@pytest.fixture(scope="module")
def images() -> Images:
    """The tokens of one held-out caption of each image, and of its other captions."""
    references, candidates = hold_out(coco.load_captions("val2014"), seed=0)
    lines = iter(tokenize([text for group in references.values() for text in group]))
    groups = [[" ".join(next(lines)) for _ in group] for group in references.values()]
    held = tokenize([group[0] for group in candidates.values()])
    return [" ".join(line) for line in held], groups


def compare(candidates: list[str], references: list[list[str]]) -> None:
    with JavaMeteor() as meteor:
        theirs = meteor.score(candidates, references)
    ours = score(candidates, references)
    for i, line in enumerate(theirs.statistics):
        assert ours.statistics[i] == reference_statistics(line), (candidates[i], references[i])
        assert abs(ours.scores[i] - theirs.scores[i]) <= 1e-9, (candidates[i], references[i])
    assert abs(ours.corpus - theirs.corpus) <= 1e-12 * theirs.corpus


def test_all_images(images: Images) -> None:
    candidates, references = images
    assert len(candidates) == 40_504
    compare(candidates, references)


def _shuffled(words: list[str], rng: random.Random) -> str:
    return " ".join(rng.sample(words, len(words)))


def _loud(words: list[str], rng: random.Random) -> str:
    return " ".join(word.upper() + rng.choice(["", "!", ".", ",", "'s", "-", '"']) for word in words)


HARD: dict[str, Callable[[list[str], random.Random], str]] = {
    "shuffled": _shuffled,
    "truncated": lambda words, rng: " ".join(words[: rng.randrange(5)]),
    "twice": lambda words, _: " ".join(words + words),
    "one word repeated": lambda words, rng: " ".join([rng.choice(words)] * rng.randrange(1, 40)),
    "upper case with punctuation": _loud,
    "100 words": lambda words, rng: " ".join(rng.choices(words, k=100)),
    "one word": lambda words, rng: rng.choice(words),
    "empty": lambda _, __: "",
    "not English": lambda words, rng: f"{rng.choice(FOREIGN)} {rng.choice(words)}",
}


@pytest.mark.parametrize("kind", HARD)
def test_hard_candidates(kind: str, images: Images) -> None:
    candidates, references = images[0][:HARD_IMAGES], images[1][:HARD_IMAGES]
    rng = random.Random(5)
    compare([HARD[kind](candidate.split(" "), rng) for candidate in candidates], references)


def test_candidates_of_other_images(images: Images) -> None:
    candidates, references = images[0][:HARD_IMAGES], images[1][:HARD_IMAGES]
    compare(random.Random(5).sample(candidates, len(candidates)), references)


def test_references_as_candidates(images: Images) -> None:
    references = images[1][:HARD_IMAGES]
    rng = random.Random(5)
    compare([rng.choice(group) for group in references], references)
