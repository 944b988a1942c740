"""Fractions of wins of all systems on the same images (CIDEr paper, Figure 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from capeval._internal.random import make_generator
from capeval.data.captions import ImageId
from capeval.errors import MismatchError
from capeval.formats.judgments.plans import Pair
from capeval.metrics.cider import Cider2015
from capeval.studies.consensus import fraction_of_wins
from capeval.studies.shared.pair_scores import PairScorer
from capeval.studies.shared.words import ComparedMetric

__all__ = ["CrossedWins", "collect_outputs", "cross_systems"]


@dataclass(frozen=True, kw_only=True)
class CrossedWins:
    """Fractions of wins by CIDEr-2015 on images with outputs of all systems.

    Attributes:
        images: The number of images with outputs of all systems.
        drawn: The number of images in each draw.
        references: The number of references of each pair.
        draws: The fraction of wins of each system, for each draw of images and references.
    """

    images: int
    drawn: int
    references: int
    draws: tuple[Mapping[str, float], ...]

    @property
    def means(self) -> dict[str, float]:
        """The mean fraction of wins of each system over the draws."""
        return {name: float(np.mean([draw[name] for draw in self.draws])) for name in self.draws[0]}


def collect_outputs(pairs: Sequence[Pair], systems: Sequence[str]) -> dict[ImageId, dict[str, str]]:
    """Return the captions of systems, for the images with captions of all of them.

    Args:
        pairs: Pairs with the systems of their candidates.
        systems: The names of the systems.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.cider_paper.crossed_wins import collect_outputs
        >>> pairs = [
        ...     Pair(image=1, first="a dog", second="A dog runs.", first_by="1", second_by="6"),
        ...     Pair(image=1, first="dog", second="a dog", first_by="2", second_by="1"),
        ...     Pair(image=2, first="cat", second="a cat", first_by="6", second_by="1"),
        ... ]
        >>> collect_outputs(pairs, ["1", "2"])
        {1: {'1': 'a dog', '2': 'dog'}}
    """
    outputs: dict[ImageId, dict[str, str]] = {}
    for pair in pairs:
        for system, text in ((pair.first_by, pair.first), (pair.second_by, pair.second)):
            if system in systems:
                outputs.setdefault(pair.image, {}).setdefault(str(system), text)
    return {
        image: {system: texts[system] for system in systems}
        for image, texts in outputs.items()
        if len(texts) == len(systems)
    }


def cross_systems(
    outputs: Mapping[ImageId, Mapping[str, str]],
    references: Mapping[ImageId, Sequence[str]],
    *,
    images: int = 100,
    count: int = 20,
    draws: int = 5,
    seed: int = 0,
) -> CrossedWins:
    """Let all systems meet on the same images, as in section 6 of the paper.

    Args:
        outputs: The caption of each system, by image.
        references: The references of each image.
        images: The number of images to draw; all if there are fewer.
        count: The number of references to draw for each pair.
        draws: The number of draws.
        seed: The seed of the draws.

    Raises:
        MismatchError: There are no images, or an image has fewer references.

    Example:
        >>> from capeval.studies.cider_paper.crossed_wins import cross_systems
        >>> outputs = {1: {"1": "a dog runs", "2": "a cat"}, 2: {"1": "two cats", "2": "a bus"}}
        >>> references = {1: ["A dog runs on grass.", "A dog."], 2: ["Two cats sleep.", "Two cats."]}
        >>> cross_systems(outputs, references, count=1).means
        {'1': 1.0, '2': 0.0}
    """
    if not outputs:
        raise MismatchError("at least one image must have the outputs of all systems (got none)")
    names = sorted(outputs)
    drawn = min(images, len(names))
    found = []
    for draw in range(draws):
        places = make_generator(seed, draw).permutation(len(names))[:drawn]
        pairs = [
            Pair(
                image=names[place],
                first=outputs[names[place]][one],
                second=outputs[names[place]][other],
                first_by=one,
                second_by=other,
                references=tuple(references[names[place]]),
            )
            for place in places
            for one, other in combinations(outputs[names[place]], 2)
        ]
        scorer = PairScorer(pairs, [ComparedMetric(metric=Cider2015())])
        [chosen] = scorer.differences(scorer.draw(count, seed=seed + draw)).values()
        found.append(fraction_of_wins([(str(p.first_by), str(p.second_by)) for p in pairs], chosen))
    return CrossedWins(images=len(names), drawn=drawn, references=count, draws=tuple(found))
