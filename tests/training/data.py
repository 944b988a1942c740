"""Captions for the tests of training and of other libraries."""

import random

METRICS = ("BLEU", "ROUGE-L", "CIDEr-D", "CIDEr-2015")

_WORDS = [
    "a",
    "the",
    "dog",
    "cat",
    "man",
    "red",
    "runs",
    "sits",
    "on",
    "in",
    "grass",
    "bed",
    "table",
    ",",
    "two",
]


def captions(images: int, seed: int) -> tuple[dict[int, list[str]], dict[int, str]]:
    """References, three to five of each image, and candidates."""
    rng = random.Random(seed)

    def caption() -> str:
        return " ".join(rng.choice(_WORDS) for _ in range(rng.randint(4, 12)))

    ids = rng.sample(range(10**6), images)
    return (
        {image: [caption() for _ in range(rng.randint(3, 5))] for image in ids},
        {image: caption() for image in ids},
    )
