"""Answers of the demo's robots, which only count words in common.

A robot that sees a picture knows its human captions.
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

__all__ = ["SeenItem", "make_answer", "make_careless_answer"]

Answer = dict[str, str]

_FUNCTION_WORD_LIST = "a an and at by his her in is are it its next of on that the their to while with"
_FUNCTION_WORDS = frozenset(_FUNCTION_WORD_LIST.split())
# Standard deviation of random noise, so that robots sometimes differ if a choice is close.
_NOISE = 0.04
# Thresholds for the share of words in common: two captions have the same meaning, a caption is fully correct,
# a caption belongs to the image; and the largest difference between equally good captions.
_SAME, _RIGHT, _OTHER, _EVEN = 0.3, 0.25, 0.1, 0.05
# A question with more choices is a scale.
_MAX_CHOICES = 3
# Number of content words in a very detailed caption.
_DETAILED_WORDS = 7


def _list_words(text: str) -> frozenset[str]:
    return frozenset(text.lower().replace(".", " ").replace(",", " ").split()) - _FUNCTION_WORDS


def _compute_overlap(one: str, other: str) -> float:
    """Return the share of the words of two texts that occur in both (Jaccard index)."""
    first, second = _list_words(one), _list_words(other)
    return len(first & second) / len(first | second) if first | second else 0.0


@dataclass(frozen=True, kw_only=True)
class SeenItem:
    """An item from the perspective of a robot.

    Attributes:
        shown: Contents of the item, as sent to a worker's browser.
        captions: Human captions of the picture; empty if no picture is shown.
        rng: Random generator of the robot.
    """

    shown: Mapping[str, Any]
    captions: Sequence[str]
    rng: random.Random

    def alike(self, one: str, other: str) -> float:
        """Return the noisy similarity of two texts; 0 if they have no word in common."""
        part = _compute_overlap(one, other)
        return part + self.rng.gauss(0, _NOISE) if part else 0.0

    def likeness(self, text: str) -> float:
        """Return the noisy mean similarity to the picture's other human captions."""
        others = [caption for caption in self.captions if _list_words(caption) != _list_words(text)]
        mean = sum(_compute_overlap(text, other) for other in others) / max(len(others), 1)
        return mean + self.rng.gauss(0, _NOISE) if mean else 0.0


def _scale(part: float) -> str:
    return str(min(5, max(1, 1 + round(4 * part))))


def _choose_closer(seen: SeenItem) -> Answer:
    left, right = (seen.alike(seen.shown[side], seen.shown["reference"]) for side in ("left", "right"))
    return {"choice": "left" if left > right else "right"}


def _choose_better(seen: SeenItem) -> Answer:
    left, right = (seen.likeness(seen.shown[side]) for side in ("left", "right"))
    return {"choice": "left" if left > right else "right"}


def _compare(seen: SeenItem) -> Answer:
    left, right = (seen.likeness(seen.shown[side]) for side in ("left", "right"))
    if abs(left - right) < _EVEN:
        return {"choice": "equal"}
    return {"choice": "left" if left > right else "right"}


def _guess_author(seen: SeenItem) -> Answer:
    return {"choice": "person" if seen.likeness(seen.shown["caption"]) > _OTHER else "machine"}


def _rate_correctness(seen: SeenItem) -> Answer:
    return {"choice": _scale(seen.likeness(seen.shown["caption"]) / _RIGHT)}


def _rate_detail(seen: SeenItem) -> Answer:
    return {"choice": _scale((len(_list_words(seen.shown["caption"])) - 1) / (_DETAILED_WORDS - 1))}


def _compare_meaning(seen: SeenItem) -> Answer:
    return {"choice": "yes" if seen.alike(seen.shown["left"], seen.shown["right"]) > _SAME else "no"}


def _rate(seen: SeenItem) -> Answer:
    caption = seen.shown["caption"]
    important: frozenset[str] = frozenset().union(*map(_list_words, seen.captions))
    said = len(important & _list_words(caption)) / max(len(important), 1)
    return {
        "precision": _scale(seen.likeness(caption) / _RIGHT),
        "recall": _scale(2 * said),
        "fluency": "0" if len(_list_words(caption)) > 2 else "0.2",
        "conciseness": "0",
        "inclusive": "0",
    }


_OPINIONS: Mapping[str, Callable[[SeenItem], Answer]] = {
    TripletTask.name: _choose_closer,
    PairwiseTask.name: _choose_better,
    M1.name: _compare,
    M2.name: _guess_author,
    M3.name: _rate_correctness,
    M4.name: _rate_detail,
    M5.name: _compare_meaning,
    RatingTask.name: _rate,
}


def make_answer(kind: str, seen: SeenItem) -> Answer:
    """Return a robot's answer in the form that a browser sends.

    The answer is random for task types that robots do not support.

    Args:
        kind: Name of a task type with choices.
        seen: Item from the perspective of the robot.
    """
    if kind not in _OPINIONS:
        return {name: seen.rng.choice(list(each.labels)) for name, each in TASKS[kind].choices.items()}
    return _OPINIONS[kind](seen)


def make_careless_answer(kind: str) -> Answer:
    """Return a careless answer: the first of a few choices, or the end of a scale."""
    found = {}
    for name, choices in TASKS[kind].choices.items():
        values = list(choices.labels)
        found[name] = values[-1] if len(values) > _MAX_CHOICES else values[0]
    return found
