"""The consensus protocol (CIDEr paper, sections 3 and 6): pairs, triplets, votes, winners, agreement."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from capeval.checks import checked_choice, checked_integer
from capeval.errors import MismatchError, OptionError
from capeval.types import FloatArray, ImageId

__all__ = [
    "Pair",
    "Triplet",
    "held_out",
    "krippendorff_alpha",
    "majority",
    "plan_pairs",
    "plan_triplets",
    "split_votes",
    "winners",
]

Difference = Literal["nominal", "interval"]
_Item = TypeVar("_Item")
_PEOPLE = ("human", "other")
# How often to draw a caption of another image until one differs; more than enough unless all are the same.
_TRIES = 1000


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two candidates of an image, to be judged.

    Attributes:
        image: The image that they are judged for.
        kind: `HC`, `HI`, `HM` or `MM`: which of them people wrote, and whether both are of this image.
        candidates: The two captions, B and C in the paper.
        systems: What wrote each: a machine's name, `human`, or `other` (a person, of another image).
    """

    image: ImageId
    kind: str
    candidates: tuple[str, str]
    systems: tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Triplet:
    """One question: which of two candidates is more similar to the reference?

    Attributes:
        pair: The place of the pair in the plan.
        reference: The reference sentence, A in the paper.
        left: The candidate shown on the left.
        right: The candidate shown on the right.
        swapped: Whether the pair's second candidate is on the left.
        judgements: How many people to ask.
    """

    pair: int
    reference: str
    left: str
    right: str
    swapped: bool
    judgements: int


def held_out(
    captions: Mapping[ImageId, Sequence[str]], count: int = 2, *, seed: int = 0
) -> tuple[dict[ImageId, list[str]], dict[ImageId, list[str]]]:
    """Draws the captions of each image that are candidates; the others are its references, in their order.

    Args:
        captions: All captions by people, by image.
        count: How many of each image are candidates; pairs of `HC` need two.
        seed: The seed; what is drawn for an image depends on it and the image alone.

    Returns:
        Candidates and references of each image.

    Raises:
        OptionError: `count` is below 1.
        MismatchError: An image has too few captions for candidates and a reference.
    """
    checked_integer("count", count, 1)
    candidates: dict[ImageId, list[str]] = {}
    references: dict[ImageId, list[str]] = {}
    for image in captions:
        texts = list(captions[image])
        if len(texts) <= count:
            raise MismatchError(
                f"image {image!r} must have at least {count + 1} captions, {count} to judge and a reference"
                f" (got {len(texts)})"
            )
        drawn = random.Random(f"{seed}/{image!r}").sample(range(len(texts)), count)  # noqa: S311
        candidates[image] = [texts[place] for place in drawn]
        references[image] = [text for place, text in enumerate(texts) if place not in drawn]
    return candidates, references


def plan_pairs(
    human: Mapping[ImageId, Sequence[str]],
    machines: Mapping[str, Mapping[ImageId, str]],
    counts: Mapping[str, int],
    *,
    seed: int = 0,
) -> tuple[Pair, ...]:
    """Draws pairs of candidates of each class (section 6).

    Images are drawn in turn, so that none has two pairs of a class before all have one. In `HM` every
    machine, and in `MM` every pair of machines, takes part equally often, give or take one. The captions of a
    pair differ in more than case, white space and a full stop: between equal ones there is nothing to choose.

    Args:
        human: Captions by people that are no references, by image; `HC` needs two of an image.
        machines: The captions of each machine, by its name and image.
        counts: How many pairs of each of `HC`, `HI`, `HM` and `MM`.
        seed: The seed; the same seed plans the same pairs.

    Raises:
        OptionError: A class is not known, a count is below 0, or a machine is called as people are.
        MismatchError: There are too few captions for a class that is wanted.
    """
    for name in _PEOPLE:
        if name in machines:
            raise OptionError(f"a machine's name must not be one of {', '.join(_PEOPLE)} (got {name!r})")
    makers = {"HC": _both_correct, "HI": _one_incorrect, "HM": _with_machine, "MM": _two_machines}
    planned: list[Pair] = []
    for kind, count in counts.items():
        if kind not in makers:
            raise OptionError(f"'counts' must be of {', '.join(makers)} (got {kind!r})")
        if count < 0:
            raise OptionError(f"'counts' must be at least 0 (got {count} for {kind})")
        if count:
            # A seed for each class: more pairs of one do not change those of another.
            planned += makers[kind](human, machines, count, random.Random(f"{seed}/{kind}"))  # noqa: S311
    return tuple(planned)


def _both_correct(
    human: Mapping[ImageId, Sequence[str]],
    machines: Mapping[str, Mapping[ImageId, str]],  # noqa: ARG001
    count: int,
    chance: random.Random,
) -> list[Pair]:
    different = {
        image: list({_form(caption): caption for caption in captions}.values())
        for image, captions in human.items()
    }
    images = [image for image, captions in different.items() if len(captions) >= 2]
    _require(images, "HC", "an image with two human captions that differ")
    made = []
    for image in _in_turn(images, count, chance):
        first, second = chance.sample(different[image], 2)
        made.append(_pair(image, "HC", (first, "human"), (second, "human"), chance))
    return made


def _one_incorrect(
    human: Mapping[ImageId, Sequence[str]],
    machines: Mapping[str, Mapping[ImageId, str]],  # noqa: ARG001
    count: int,
    chance: random.Random,
) -> list[Pair]:
    images = [image for image, captions in human.items() if captions]
    _require(images if len(images) > 1 else [], "HI", "two images with human captions")
    made = []
    for image in _in_turn(images, count, chance):
        right = chance.choice(list(human[image]))
        wrong = _of_another(image, right, images, human, chance)
        made.append(_pair(image, "HI", (right, "human"), (wrong, "other"), chance))
    return made


def _of_another(
    image: ImageId,
    right: str,
    images: Sequence[ImageId],
    human: Mapping[ImageId, Sequence[str]],
    chance: random.Random,
) -> str:
    """A caption of another image that is not the same."""
    for _ in range(_TRIES):
        other = chance.choice(images)
        wrong = chance.choice(list(human[other]))
        if other != image and _form(wrong) != _form(right):
            return wrong
    raise MismatchError(f"pairs of class HI need captions of other images that differ from {right!r}")


def _with_machine(
    human: Mapping[ImageId, Sequence[str]],
    machines: Mapping[str, Mapping[ImageId, str]],
    count: int,
    chance: random.Random,
) -> list[Pair]:
    _require(list(machines), "HM", "a machine")
    turns = {}
    for name, captions in machines.items():
        images = [image for image in captions if _unlike(captions[image], human.get(image, ()))]
        _require(images, "HM", f"an image with a human caption and one of {name!r} that differ")
        turns[name] = iter(_in_turn(images, count, chance))
    made = []
    for name in _in_turn(list(machines), count, chance):
        image = next(turns[name])
        person = chance.choice(_unlike(machines[name][image], human[image]))
        made.append(_pair(image, "HM", (person, "human"), (machines[name][image], name), chance))
    return made


def _two_machines(
    human: Mapping[ImageId, Sequence[str]],  # noqa: ARG001
    machines: Mapping[str, Mapping[ImageId, str]],
    count: int,
    chance: random.Random,
) -> list[Pair]:
    rivals = list(combinations(machines, 2))
    _require(rivals, "MM", "two machines")
    turns = {}
    for first, second in rivals:
        theirs = machines[second]
        images = [
            image
            for image, text in machines[first].items()
            if image in theirs and _unlike(text, [theirs[image]])
        ]
        _require(images, "MM", f"an image with captions of {first!r} and {second!r} that differ")
        turns[first, second] = iter(_in_turn(images, count, chance))
    made = []
    for first, second in _in_turn(rivals, count, chance):
        image = next(turns[first, second])
        one, two = (machines[first][image], first), (machines[second][image], second)
        made.append(_pair(image, "MM", one, two, chance))
    return made


def _form(caption: str) -> str:
    """What makes two captions the same."""
    return " ".join(caption.casefold().split()).rstrip(" .")


def _unlike(caption: str, others: Sequence[str]) -> list[str]:
    """The others that are not the same caption."""
    return [other for other in others if _form(other) != _form(caption)]


def _require(found: Sequence[object], kind: str, what: str) -> None:
    if not found:
        raise MismatchError(f"pairs of class {kind} need {what} (got none)")


def _in_turn(items: Sequence[_Item], count: int, chance: random.Random) -> list[_Item]:
    """`count` items: all of them in random order, then all again in another order, and so on."""
    drawn: list[_Item] = []
    while len(drawn) < count:
        drawn += chance.sample(list(items), len(items))
    return drawn[:count]


def _pair(
    image: ImageId, kind: str, one: tuple[str, str], two: tuple[str, str], chance: random.Random
) -> Pair:
    first, second = (one, two) if chance.random() < 0.5 else (two, one)
    return Pair(image=image, kind=kind, candidates=(first[0], second[0]), systems=(first[1], second[1]))


def plan_triplets(
    pairs: Sequence[Pair],
    references: Mapping[ImageId, Sequence[str]],
    *,
    per_pair: int | None = None,
    judgements: int = 3,
    seed: int = 0,
) -> tuple[Triplet, ...]:
    """Makes the questions for people: each pair with references of its image (section 3).

    The sides are balanced: of a pair's triplets, each candidate is on the left in half, give or take one.

    Args:
        pairs: The pairs to judge.
        references: The reference sentences of each image.
        per_pair: How many references to draw for each pair; all by default (the paper has 48 for the
            metrics' accuracy, 20 for the comparison of systems).
        judgements: How many people to ask for each triplet.
        seed: The seed; the same seed plans the same triplets.

    Raises:
        OptionError: `per_pair` or `judgements` is below 1.
        MismatchError: An image has too few references.
    """
    checked_integer("judgements", judgements, 1)
    if per_pair is not None:
        checked_integer("per_pair", per_pair, 1)
    chance = random.Random(seed)  # noqa: S311
    planned = []
    for place, pair in enumerate(pairs):
        texts = list(references.get(pair.image, ()))
        wanted = len(texts) if per_pair is None else per_pair
        if not texts or wanted > len(texts):
            raise MismatchError(
                f"image {pair.image!r} must have at least {max(wanted, 1)} references (got {len(texts)})"
            )
        offset = chance.randrange(2)
        for turn, text in enumerate(chance.sample(texts, wanted)):
            swapped = (turn + offset) % 2 == 1
            left, right = reversed(pair.candidates) if swapped else pair.candidates
            planned.append(
                Triplet(
                    pair=place, reference=text, left=left, right=right, swapped=swapped, judgements=judgements
                )
            )
    chance.shuffle(planned)
    return tuple(planned)


def majority(judgements: ArrayLike) -> NDArray[np.int64]:
    """What most people chose, question by question.

    Args:
        judgements: 1 (first), -1 (second) or 0 (no answer), of shape `(questions, people)`.

    Returns:
        1, -1, or 0 where as many chose each, by question.

    Raises:
        MismatchError: A judgement is something else, or a question has no answer.
    """
    given = np.asarray(judgements)
    if given.ndim != 2 or not np.isin(given, (-1, 0, 1)).all():
        raise MismatchError("judgements must be rows of 1, -1 and 0 (no answer), a row a question")
    silent = np.flatnonzero(~(given != 0).any(axis=1))
    if silent.size:
        raise MismatchError(f"every question must have a judgement (got none for question {silent[0]})")
    signs: NDArray[np.int64] = np.sign(given.sum(axis=1)).astype(np.int64)
    return signs


def winners(votes: Sequence[Sequence[int] | NDArray[np.int64]]) -> NDArray[np.int64]:
    """The winner of each pair: 1 (first), -1 (second), or 0 where it is a tie.

    Args:
        votes: The votes of each pair, 1 or -1: of its triplets, or of people who judged it directly.

    Raises:
        MismatchError: A pair has no votes.
    """
    for place, given in enumerate(votes):
        if not len(given):
            raise MismatchError(f"every pair must have votes (got none for pair {place})")
    return np.array([np.sign(sum(given)) for given in votes], dtype=np.int64)


def split_votes(votes: int, *, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two random halves of places: for a truth, and for what is to predict it (section 7.4: 24 and 24).

    Raises:
        MismatchError: There are fewer than two.
    """
    if votes < 2:
        raise MismatchError(f"a split needs at least two votes (got {votes})")
    order = np.random.default_rng(seed).permutation(votes)
    return np.sort(order[: votes // 2]), np.sort(order[votes // 2 :])


def krippendorff_alpha(ratings: ArrayLike, *, difference: Difference = "nominal") -> float:
    """How far annotators agree beyond chance: 1 for always, 0 for as often as by chance.

    Krippendorff's alpha, 1 - D_o / D_e, with observed and expected disagreement over all pairs of ratings of
    one question and of all questions (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability).

    Args:
        ratings: Of shape `(questions, annotators)`; NaN where an annotator gave none. Who gave which rating
            does not matter, so columns need not be the same people throughout.
        difference: `nominal` (equal or not) or `interval` (squared difference).

    Raises:
        OptionError: `difference` is something else.
        MismatchError: No question has two ratings, or all ratings are equal, so that agreement means
            nothing.
    """
    checked_choice("difference", difference, get_args(Difference))
    given = np.asarray(ratings, dtype=np.float64)
    if given.ndim != 2:
        raise MismatchError(f"ratings must be rows of annotators' ratings (got {given.ndim} dimensions)")
    values, coded = np.unique(given[~np.isnan(given)], return_inverse=True)
    counts = np.zeros((len(given), len(values)))
    np.add.at(counts, (np.nonzero(~np.isnan(given))[0], coded), 1)
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        raise MismatchError("at least one question must have two ratings (got none)")
    distance: FloatArray = (
        (values[:, None] != values[None, :]).astype(np.float64)
        if difference == "nominal"
        else (values[:, None] - values[None, :]) ** 2
    )
    per_question, totals = counts.sum(axis=1), counts.sum(axis=0)
    observed = float((np.einsum("qi,qj,ij->q", counts, counts, distance) / (per_question - 1)).sum())
    expected = float(totals @ distance @ totals) / (totals.sum() - 1)
    if not expected:
        raise MismatchError("ratings must differ somewhere (got one value throughout)")
    return float(1.0 - observed / expected)
