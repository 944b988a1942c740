"""Consensus protocol of the CIDEr paper, sections 3 and 6: plans and winners."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from capeval._internal.random import draw_in_rounds, make_python_random
from capeval.data.captions import ImageId
from capeval.data.held_out import hold_out_several
from capeval.errors import MismatchError, OptionError
from capeval.formats.judgments.plans import Pair, Plan, Triplet
from capeval.studies.plan.options import PlanOptions

__all__ = [
    "PlanOptions",
    "majority",
    "plan_pairs",
    "plan_study",
    "plan_triplets",
    "winners",
]

_RESERVED_NAMES = ("human", "other")
# Attempts to draw a different caption of another image: enough unless all captions are equal.
_MAX_TRIES = 1000


def plan_pairs(
    human: Mapping[ImageId, Sequence[str]],
    machines: Mapping[str, Mapping[ImageId, str]],
    counts: Mapping[str, int],
    *,
    seed: int,
) -> tuple[Pair, ...]:
    """Draw pairs of candidates of each class (section 6).

    Images are drawn in turn: no image has two pairs of a class before every image has one. In `HM` every
    machine, and in `MM` every pair of machines, occurs equally often, up to a difference of one. The captions
    of a pair differ in more than case, white space and a full stop, because equal captions leave no choice.

    Args:
        human: Human captions that are not references, by image; `HC` needs two of an image.
        machines: The captions of each machine, by its name and image.
        counts: The number of pairs of each of `HC`, `HI`, `HM` and `MM`.
        seed: The seed; the same seed plans the same pairs.

    Raises:
        OptionError: A class is unknown, a count is below 0, or a machine has a reserved name.
        MismatchError: There are too few captions for a class.

    Example:
        >>> from capeval.studies.plan import plan_pairs
        >>> human = {1: ["A dog runs on the grass.", "The dog is running outside."]}
        >>> machines = {"up-down": {1: "A dog in a field."}}
        >>> pairs = plan_pairs(human, machines, {"HC": 1, "HM": 1}, seed=0)
        >>> [(pair.image, pair.kind, sorted([pair.first_by, pair.second_by])) for pair in pairs]
        [(1, 'HC', ['human', 'human']), (1, 'HM', ['human', 'up-down'])]
    """
    for name in _RESERVED_NAMES:
        if name in machines:
            raise OptionError(
                f"a machine's name must not be one of {', '.join(_RESERVED_NAMES)} (got {name!r})"
            )
    planners = {"HC": _draw_hc_pairs, "HI": _draw_hi_pairs, "HM": _draw_hm_pairs, "MM": _draw_mm_pairs}
    planned: list[Pair] = []
    for kind, count in counts.items():
        if kind not in planners:
            raise OptionError(f"the classes of 'counts' must be among {', '.join(planners)} (got {kind!r})")
        if count < 0:
            raise OptionError(f"'counts' must be at least 0 (got {count} for {kind})")
        if count:
            # Each class has its own seed, so that its pairs don't depend on other classes.
            planned += planners[kind](human, machines, count, make_python_random(seed, kind))
    return tuple(planned)


def _draw_hc_pairs(
    human: Mapping[ImageId, Sequence[str]],
    machines: Mapping[str, Mapping[ImageId, str]],  # noqa: ARG001
    count: int,
    rng: random.Random,
) -> list[Pair]:
    different = {
        image: list({_normalize(caption): caption for caption in captions}.values())
        for image, captions in human.items()
    }
    images = [image for image, captions in different.items() if len(captions) >= 2]
    _require(images, "HC", "an image with two different human captions")
    pairs = []
    for image in draw_in_rounds(images, count, rng):
        first, second = rng.sample(different[image], 2)
        pairs.append(_shuffle_pair(image, "HC", (first, "human"), (second, "human"), rng))
    return pairs


def _draw_hi_pairs(
    human: Mapping[ImageId, Sequence[str]],
    machines: Mapping[str, Mapping[ImageId, str]],  # noqa: ARG001
    count: int,
    rng: random.Random,
) -> list[Pair]:
    images = [image for image, captions in human.items() if captions]
    _require(images if len(images) > 1 else [], "HI", "two images with human captions")
    pairs = []
    for image in draw_in_rounds(images, count, rng):
        right = rng.choice(list(human[image]))
        wrong = _draw_other_caption(image, right, images, human, rng)
        pairs.append(_shuffle_pair(image, "HI", (right, "human"), (wrong, "other"), rng))
    return pairs


def _draw_other_caption(
    image: ImageId,
    right: str,
    images: Sequence[ImageId],
    human: Mapping[ImageId, Sequence[str]],
    rng: random.Random,
) -> str:
    """Return a caption of another image that differs from `right`."""
    for _ in range(_MAX_TRIES):
        other = rng.choice(images)
        wrong = rng.choice(list(human[other]))
        if other != image and _normalize(wrong) != _normalize(right):
            return wrong
    raise MismatchError(f"pairs of class HI need captions of other images that differ from {right!r}")


def _draw_hm_pairs(
    human: Mapping[ImageId, Sequence[str]],
    machines: Mapping[str, Mapping[ImageId, str]],
    count: int,
    rng: random.Random,
) -> list[Pair]:
    _require(list(machines), "HM", "a machine")
    turns = {}
    for name, captions in machines.items():
        images = [image for image in captions if _list_different(captions[image], human.get(image, ()))]
        _require(images, "HM", f"an image with different captions by a human and by {name!r}")
        turns[name] = iter(draw_in_rounds(images, count, rng))
    pairs = []
    for name in draw_in_rounds(list(machines), count, rng):
        image = next(turns[name])
        person = rng.choice(_list_different(machines[name][image], human[image]))
        pairs.append(_shuffle_pair(image, "HM", (person, "human"), (machines[name][image], name), rng))
    return pairs


def _draw_mm_pairs(
    human: Mapping[ImageId, Sequence[str]],  # noqa: ARG001
    machines: Mapping[str, Mapping[ImageId, str]],
    count: int,
    rng: random.Random,
) -> list[Pair]:
    rivals = list(combinations(machines, 2))
    _require(rivals, "MM", "two machines")
    turns = {}
    for first, second in rivals:
        second_captions = machines[second]
        images = [
            image
            for image, text in machines[first].items()
            if image in second_captions and _list_different(text, [second_captions[image]])
        ]
        _require(images, "MM", f"an image with different captions by {first!r} and {second!r}")
        turns[first, second] = iter(draw_in_rounds(images, count, rng))
    pairs = []
    for first, second in draw_in_rounds(rivals, count, rng):
        image = next(turns[first, second])
        one, two = (machines[first][image], first), (machines[second][image], second)
        pairs.append(_shuffle_pair(image, "MM", one, two, rng))
    return pairs


def _normalize(caption: str) -> str:
    """Normalize case, spaces and final full stops, to compare captions."""
    return " ".join(caption.casefold().split()).rstrip(" .")


def _list_different(caption: str, others: Sequence[str]) -> list[str]:
    """Return the captions among `others` that differ from `caption`."""
    return [other for other in others if _normalize(other) != _normalize(caption)]


def _require(choices: Sequence[object], kind: str, what: str) -> None:
    if not choices:
        raise MismatchError(f"pairs of class {kind} need {what} (got none)")


def _shuffle_pair(
    image: ImageId, kind: str, one: tuple[str, str], two: tuple[str, str], rng: random.Random
) -> Pair:
    first, second = (one, two) if rng.random() < 0.5 else (two, one)
    return Pair(
        image=image, kind=kind, first=first[0], second=second[0], first_by=first[1], second_by=second[1]
    )


def plan_study(
    captions: Mapping[ImageId, Sequence[str]],
    machines: Mapping[str, Mapping[ImageId, str]],
    counts: Mapping[str, int],
    options: PlanOptions = PlanOptions(),  # noqa: B008 - it is immutable.
) -> Plan:
    """Plan pairs and triplets from human captions.

    Some captions of each image are candidates, and the others are references.

    Args:
        captions: All human captions, by image.
        machines: The captions of each machine, by its name and image.
        counts: The number of pairs of each of `HC`, `HI`, `HM` and `MM`.
        options: The numbers of captions and people. `HC` pairs need two held-out captions. The same seed
            makes the same plan.

    Raises:
        OptionError: A class, a count or a machine's name is not allowed; see `plan_pairs`.
        MismatchError: There are too few captions.

    Example:
        Two of five captions become the pair to judge. It is shown with each of the other three, to three
        people by default:

        >>> from capeval.studies.plan import plan_study
        >>> captions = {1: ["A dog runs.", "A dog outside.", "A pet.", "A dog on grass.", "A brown dog."]}
        >>> plan = plan_study(captions, machines={}, counts={"HC": 1})
        >>> len(plan.pairs), len(plan.triplets), plan.triplets[0].judgments
        (1, 3, 3)
    """
    candidates, references = hold_out_several(captions, options.held_out, seed=options.seed)
    pairs = plan_pairs(candidates, machines, counts, seed=options.seed)
    return Plan(pairs=pairs, triplets=plan_triplets(pairs, references, options))


def plan_triplets(
    pairs: Sequence[Pair],
    references: Mapping[ImageId, Sequence[str]],
    options: PlanOptions = PlanOptions(),  # noqa: B008 - it is immutable.
) -> tuple[Triplet, ...]:
    """Plan triplets: each pair with references of its image (section 3).

    Sides are balanced: each candidate of a pair is on the left in half of its triplets, up to a difference of
    one.

    Args:
        pairs: The pairs to judge.
        references: The reference sentences of each image.
        options: The numbers of references and people. The paper uses 48 references to measure the metrics'
            accuracy, and 20 to compare systems. The same seed plans the same triplets.

    Raises:
        MismatchError: An image has too few references.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.plan import plan_triplets
        >>> pair = Pair(image=1, first="A dog runs.", second="A dog in a field.")
        >>> triplets = plan_triplets([pair], {1: ["The dog is running.", "A dog on the grass."]})
        >>> sorted(triplet.reference for triplet in triplets)
        ['A dog on the grass.', 'The dog is running.']
        >>> sorted(triplet.on_the_left for triplet in triplets)
        ['first', 'second']
    """
    rng = make_python_random(options.seed)
    planned = []
    for place, pair in enumerate(pairs):
        texts = list(references.get(pair.image, ()))
        wanted = len(texts) if options.per_pair is None else options.per_pair
        if not texts or wanted > len(texts):
            raise MismatchError(
                f"image {pair.image!r} must have at least {max(wanted, 1)} references (got {len(texts)})"
            )
        offset = rng.randrange(2)
        for turn, text in enumerate(rng.sample(texts, wanted)):
            first_left = (turn + offset) % 2 == 0
            planned.append(
                Triplet(
                    pair=place,
                    reference=text,
                    left=pair.first if first_left else pair.second,
                    right=pair.second if first_left else pair.first,
                    on_the_left="first" if first_left else "second",
                    judgments=options.judgments,
                )
            )
    rng.shuffle(planned)
    return tuple(planned)


def majority(judgments: ArrayLike) -> NDArray[np.int64]:
    """Return the majority choice for each question.

    Args:
        judgments: 1 (first), -1 (second) or 0 (no answer), of shape `(questions, people)`.

    Returns:
        1, -1, or 0 for a tie, for each question.

    Raises:
        MismatchError: A judgment has another value, or a question has no answer.

    Example:
        >>> from capeval.studies.plan import majority
        >>> majority([[1, 1, -1], [1, -1, 0], [-1, -1, -1]]).tolist()
        [1, 0, -1]
    """
    answers = np.asarray(judgments)
    if answers.ndim != 2 or not np.isin(answers, (-1, 0, 1)).all():
        raise MismatchError("judgments must be 1, -1 or 0 (no answer), with one row per question")
    unanswered = np.flatnonzero(~(answers != 0).any(axis=1))
    if unanswered.size:
        raise MismatchError(f"every question must have a judgment (got none for question {unanswered[0]})")
    signs: NDArray[np.int64] = np.sign(answers.sum(axis=1)).astype(np.int64)
    return signs


def winners(votes: Sequence[Sequence[int] | NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the winner of each pair: 1 (first), -1 (second), or 0 for a tie.

    Args:
        votes: The votes of each pair, 1 or -1, on its triplets or by people who judged it directly.

    Raises:
        MismatchError: A pair has no votes.

    Example:
        >>> from capeval.studies.plan import winners
        >>> winners([[1, 1, -1], [1, -1], [-1]]).tolist()
        [1, 0, -1]
    """
    for place, votes_of_pair in enumerate(votes):
        if not len(votes_of_pair):
            raise MismatchError(f"every pair must have votes (got none for pair {place})")
    return np.array([np.sign(sum(votes_of_pair)) for votes_of_pair in votes], dtype=np.int64)
