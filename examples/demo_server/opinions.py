"""What the demo's robots answer: they count words in common, and nothing else.

A robot that sees a picture knows the captions that people wrote of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capeval_server.annotation.task_types import TASKS
from capeval_server.annotation.task_types.judgments import M1, M2, M3, M4, M5, RatingTask
from capeval_server.annotation.task_types.pairwise import PairwiseTask
from capeval_server.annotation.task_types.triplet import TripletTask

__all__ = ["Seen", "careless_answer", "opinion"]

Answer = dict[str, str]

_LITTLE_WORDS = "a an and at by his her in is are it its next of on that the their to while with"
_LITTLE = frozenset(_LITTLE_WORDS.split())
# Robots differ from each other by chance where a choice is close.
_DIFFERENCE = 0.04
# From this part of words in common two captions say the same; so like is a caption that says all right, and
# one of something else is less like. So close are captions that are equally good.
_SAME, _RIGHT, _OTHER, _EVEN = 0.3, 0.25, 0.1, 0.05
# More choices than these are a scale.
_FEW = 3
# So many words that are not little has a caption that is very detailed.
_DETAILED = 7


def _words(text: str) -> frozenset[str]:
    return frozenset(text.lower().replace(".", " ").replace(",", " ").split()) - _LITTLE


def _in_common(one: str, other: str) -> float:
    """The part of the words of two texts that both have."""
    first, second = _words(one), _words(other)
    return len(first & second) / len(first | second) if first | second else 0.0


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a robot sees of an item.

    Attributes:
        shown: What a worker's browser gets.
        captions: What people wrote of the picture; empty where none is shown.
        rng: The robot's own generator.
    """

    shown: Mapping[str, Any]
    captions: Sequence[str]
    rng: random.Random

    def alike(self, one: str, other: str) -> float:
        """How alike two texts are to this robot; 0 where they have nothing in common."""
        part = _in_common(one, other)
        return part + self.rng.gauss(0, _DIFFERENCE) if part else 0.0

    def likeness(self, text: str) -> float:
        """How much a text is like what people wrote of the picture, other than itself."""
        others = [caption for caption in self.captions if _words(caption) != _words(text)]
        mean = sum(_in_common(text, other) for other in others) / max(len(others), 1)
        return mean + self.rng.gauss(0, _DIFFERENCE) if mean else 0.0


def _one_to_five(part: float) -> str:
    return str(min(5, max(1, 1 + round(4 * part))))


def _closer(seen: Seen) -> Answer:
    left, right = (seen.alike(seen.shown[side], seen.shown["reference"]) for side in ("left", "right"))
    return {"choice": "left" if left > right else "right"}


def _better(seen: Seen) -> Answer:
    left, right = (seen.likeness(seen.shown[side]) for side in ("left", "right"))
    return {"choice": "left" if left > right else "right"}


def _better_or_equal(seen: Seen) -> Answer:
    left, right = (seen.likeness(seen.shown[side]) for side in ("left", "right"))
    if abs(left - right) < _EVEN:
        return {"choice": "equal"}
    return {"choice": "left" if left > right else "right"}


def _person(seen: Seen) -> Answer:
    return {"choice": "person" if seen.likeness(seen.shown["caption"]) > _OTHER else "machine"}


def _correct(seen: Seen) -> Answer:
    return {"choice": _one_to_five(seen.likeness(seen.shown["caption"]) / _RIGHT)}


def _detailed(seen: Seen) -> Answer:
    return {"choice": _one_to_five((len(_words(seen.shown["caption"])) - 1) / (_DETAILED - 1))}


def _same(seen: Seen) -> Answer:
    return {"choice": "yes" if seen.alike(seen.shown["left"], seen.shown["right"]) > _SAME else "no"}


def _rated(seen: Seen) -> Answer:
    caption = seen.shown["caption"]
    important: frozenset[str] = frozenset().union(*map(_words, seen.captions))
    said = len(important & _words(caption)) / max(len(important), 1)
    return {
        "precision": _one_to_five(seen.likeness(caption) / _RIGHT),
        "recall": _one_to_five(2 * said),
        "fluency": "0" if len(_words(caption)) > 2 else "0.2",
        "conciseness": "0",
        "inclusive": "0",
    }


_OPINIONS: Mapping[str, Callable[[Seen], Answer]] = {
    TripletTask.name: _closer,
    PairwiseTask.name: _better,
    M1.name: _better_or_equal,
    M2.name: _person,
    M3.name: _correct,
    M4.name: _detailed,
    M5.name: _same,
    RatingTask.name: _rated,
}


def opinion(kind: str, seen: Seen) -> Answer:
    """Return a robot's answer, as a browser would send it; drawn for kinds of which robots have no opinion.

    Args:
        kind: The kind of task, one with choices.
        seen: What the robot sees.
    """
    if kind not in _OPINIONS:
        return {name: seen.rng.choice(list(each.labels)) for name, each in TASKS[kind].choices.items()}
    return _OPINIONS[kind](seen)


def careless_answer(kind: str) -> Answer:
    """The answer of a robot that does not look: the first of a few choices, and the last of a scale."""
    found = {}
    for name, choices in TASKS[kind].choices.items():
        values = list(choices.labels)
        found[name] = values[-1] if len(values) > _FEW else values[0]
    return found
