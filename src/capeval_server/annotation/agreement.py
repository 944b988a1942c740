"""How far a caption agrees with the others of its image: the worst go to a person, none is rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capeval.metrics.cider import CiderD
from capeval.studies.ranking import rank_references
from capeval.studies.words import Contender
from capeval.types import ImageId, References

__all__ = ["LEAST_OTHERS", "LIMIT", "agreement", "unlike_the_others"]

LIMIT = 0.06
"""Below this CIDEr-D a caption goes to review.

Of captions of other images that were planted in nocaps's validation set (1 %, drawn five times), 94 to 95 %
are below it once an image has its ten captions, and 3.1 % of all are; below 0.05 it was 89 % in one draw.
With three other captions, fewer are found and more right ones are looked at.
"""

LEAST_OTHERS = 3
"""How many other captions an image must have before a caption is compared with them."""


def agreement(captions: Mapping[ImageId, Sequence[str]]) -> dict[ImageId, tuple[float, ...]]:
    """CIDEr-D of each caption against the other captions of its image.

    Images with fewer than `LEAST_OTHERS` + 1 captions are left out. Document frequencies are those of all
    captions given, so give those of a whole campaign.

    Args:
        captions: The captions of each image.
    """
    enough = {image: list(texts) for image, texts in captions.items() if len(texts) > LEAST_OTHERS}
    if not enough:
        return {}
    ranking = rank_references(References(enough), (Contender(metric=CiderD()),))
    return {
        image: tuple(scores.tolist()) for image, scores in zip(enough, ranking.scores["CIDEr-D"], strict=True)
    }


def unlike_the_others(captions: Mapping[ImageId, Sequence[str]]) -> list[tuple[ImageId, int]]:
    """The image and the place of each caption that agrees too little with the others, to be looked at."""
    return [
        (image, place)
        for image, scores in agreement(captions).items()
        for place, score in enumerate(scores)
        if score < LIMIT
    ]
