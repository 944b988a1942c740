"""Captions held out: some captions of each image become candidates and the others its references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capeval._internal.random import python_random
from capeval._internal.validation import checked_integer
from capeval.data.captions import Candidates, ImageId, References
from capeval.errors import MismatchError

__all__ = ["hold_out", "hold_out_several"]


def hold_out(references: References, *, seed: int = 0) -> tuple[References, Candidates]:
    """Draws one caption of each image as the candidate; the others are its references.

    Args:
        references: At least two captions for each image.
        seed: The seed of a `random.Random`; its `randrange(number of captions)` chooses for each image.

    Returns:
        The references without the captions held out, and the captions held out.

    Raises:
        MismatchError: An image has only one caption.
    """
    rng = python_random(seed)
    others: dict[ImageId, list[str]] = {}
    held_out: dict[ImageId, str] = {}
    for image, texts in references.items():
        if len(texts) < 2:
            raise MismatchError(f"every image must have at least two captions (got one for image {image!r})")
        held_out[image] = texts.pop(rng.randrange(len(texts)))
        others[image] = texts
    return References(others), Candidates(held_out)


def hold_out_several(
    captions: Mapping[ImageId, Sequence[str]], count: int = 2, *, seed: int = 0
) -> tuple[dict[ImageId, list[str]], dict[ImageId, list[str]]]:
    """Draws several captions of each image as candidates; the others are its references, in their order.

    Args:
        captions: All captions by people, by image.
        count: How many captions of each image are candidates.
        seed: The seed; the draw of an image depends only on it and the image.

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
        drawn = python_random(seed, repr(image)).sample(range(len(texts)), count)
        candidates[image] = [texts[place] for place in drawn]
        references[image] = [text for place, text in enumerate(texts) if place not in drawn]
    return candidates, references
