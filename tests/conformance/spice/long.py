"""Captions of one long sentence: two of 130 and of 200 tokens, and captions of val2014 joined to one."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from capeval import tokenize
from capeval.datasets import coco

_PARTS = (
    "a man in a red shirt is riding a brown horse",
    "two small dogs are sleeping on the green grass",
    "a woman with an umbrella walks down the wet street",
    "there are three white boats on the blue lake",
    "the old wooden table has a bowl of fruit on it",
)
_REFERENCES = [
    "a man in a red shirt rides a horse near two dogs",
    "a woman walks down a street with an umbrella",
]


def _sentence(tokens: int) -> str:
    words = " and ".join(_PARTS * 5).split()
    return " ".join(words[:tokens])


def join_captions(lengths: Iterable[int], seed: int) -> list[str]:
    """Return one sentence of each number of tokens, made of captions of val2014."""
    rng, references = random.Random(seed), coco.load_captions("val2014")
    made = []
    for length in lengths:
        tokens: list[str] = []
        while len(tokens) < length:
            image = rng.choice(references.image_ids)
            (caption,) = tokenize([references[image][0]])
            tokens += [*([rng.choice(("and", "while"))] if tokens else []), *caption]
        made.append(" ".join(tokens[:length]))
    return made


def list_captions(length: int, seed: int) -> list[str]:
    """Return captions of val2014, tokenized, with this number of tokens in total."""
    rng, references = random.Random(seed), coco.load_captions("val2014")
    made: list[str] = []
    while length > 0:
        (caption,) = tokenize([references[rng.choice(references.image_ids)][0]])
        made.append(" ".join(caption[:length]))
        length -= len(caption)
    return made


def long_images() -> list[dict[str, Any]]:
    """Images as `java.counts` reads them."""
    return [{"test": _sentence(tokens), "refs": _REFERENCES} for tokens in (130, 200)]


# Matched, surplus and missing tuples, by SPICE 1.0 (pycocoevalcap 1.2) with CoreNLP 3.6.0, run by Driver.java
# on OpenJDK 17: `java.counts(long_images())`, which takes 36 s.
LONG_COUNTS: list[dict[str, list[int]]] = [
    {
        "All": [7, 36, 7],
        "Object": [6, 8, 1],
        "Attribute": [1, 11, 2],
        "Relation": [0, 17, 4],
        "Color": [0, 5, 1],
        "Size": [0, 1, 0],
        "Count": [1, 1, 0],
    },
    {
        "All": [8, 30, 6],
        "Object": [6, 7, 1],
        "Attribute": [1, 11, 2],
        "Relation": [1, 12, 3],
        "Color": [0, 5, 1],
        "Size": [0, 1, 0],
        "Count": [1, 1, 0],
    },
]
