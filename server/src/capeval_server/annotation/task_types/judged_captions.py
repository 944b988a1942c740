"""Captions of a challenge's systems, from which task types build the items of judgment campaigns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from capeval.data.captions import ImageId
from capeval.formats.judgments.plans import Pair
from capeval.studies.judging import HUMAN, RANDOM
from capeval.toolkit.random import make_python_random

__all__ = ["CHECK", "JudgedCaptions", "KnownCaptions"]

CHECK = "check"
"""The class of attention checks."""

# The writers of plans for the rows that are not systems.
_WRITERS = {HUMAN: "human", RANDOM: "other"}
# Number of images among which a caption of a different image is searched, and the largest share of its words
# that the captions of the image may contain: a caption that fits by chance would be a wrong check.
_COMPARED, _MOST_SHARED = 20, 0.5


@dataclass(frozen=True, kw_only=True)
class KnownCaptions:
    """Two captions for an attention check: one that describes an image, and one that does not.

    Attributes:
        image: The image.
        right: A human caption of the image.
        wrong: A human caption of a different image with few words in common.
    """

    image: ImageId
    right: str
    wrong: str


@dataclass(frozen=True, kw_only=True)
class JudgedCaptions:
    """Captions of some images by all judged systems.

    Attributes:
        systems: The caption of each image by each system, with the rows Human and Random.
        references: Human captions of each image that are not in the row Human.
        pictures: The name of each image's file, empty in a forecast without files; none if no task type
            shows images.
        seed: Seed of random draws.
    """

    systems: Mapping[str, Mapping[ImageId, str]]
    references: Mapping[ImageId, Sequence[str]]
    pictures: Mapping[ImageId, str]
    seed: int = 0

    @property
    def images(self) -> list[ImageId]:
        """The images."""
        return list(self.references)

    def captions(self) -> Iterator[tuple[ImageId, str, str]]:
        """Yield image, system and caption of each judged caption."""
        for system, captions in self.systems.items():
            for image in self.images:
                yield image, system, captions[image]

    @cached_property
    def known(self) -> list[KnownCaptions]:
        """Captions for attention checks: at most one case per image, least similar captions first."""
        rng = make_python_random(self.seed, "checks")
        words = {
            image: {word for text in (*texts, self.systems[HUMAN][image]) for word in text.split()}
            for image, texts in self.references.items()
        }
        images, found = self.images, []
        for image, texts in self.references.items():
            compared = rng.sample(images, min(_COMPARED, len(images)))
            others = [self.references[other][0] for other in compared if other != image]
            shared, wrong = min((_measure_share(text, words[image]), text) for text in others)
            if shared <= _MOST_SHARED:
                found.append((shared, KnownCaptions(image=image, right=texts[0], wrong=wrong)))
        return [case for _, case in sorted(found, key=lambda each: each[0])]

    @cached_property
    def pairs(self) -> list[Pair]:
        """Pairs of captions of an image: each system in one pair per image, all pairs equally often.

        With an odd number of systems, one of them has no pair of an image. Equal captions are no pair.
        """
        rng = make_python_random(self.seed, "pairs")
        counts = dict.fromkeys(combinations(self.systems, 2), 0)
        found = []
        for image in self.images:
            free = list(self.systems)
            rng.shuffle(free)
            for pair in sorted(counts, key=lambda pair: (counts[pair], rng.random())):
                if set(pair) <= set(free):
                    free = [system for system in free if system not in pair]
                    counts[pair] += 1
                    first, second = rng.sample(pair, 2)
                    texts = self.systems[first][image], self.systems[second][image]
                    if texts[0] != texts[1]:
                        names = _WRITERS.get(first, first), _WRITERS.get(second, second)
                        found.append(
                            Pair(
                                image=image,
                                kind=None,
                                first=texts[0],
                                second=texts[1],
                                first_by=names[0],
                                second_by=names[1],
                            )
                        )
        return found


def _measure_share(text: str, words: set[str]) -> float:
    """Return the share of a text's different words that are in a set."""
    own = set(text.split())
    return len(own & words) / len(own)
