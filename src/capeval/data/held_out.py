"""Held-out captions: some of each image's captions become its candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capeval._internal.random import make_python_random
from capeval._internal.validation import validate_integer
from capeval.data.captions import Candidates, ImageId, References
from capeval.errors import MismatchError

__all__ = ["hold_out", "hold_out_several"]


def hold_out(references: References, *, seed: int = 0) -> tuple[References, Candidates]:
    """Draw one caption of each image as its candidate; the others are its references.

    Args:
        references: At least two captions per image.
        seed: The seed of a `random.Random`; its `randrange(number of captions)` selects the candidate of each
            image.

    Returns:
        The references without the held-out captions, and the held-out captions.

    Raises:
        MismatchError: An image has only one caption.
    """
    rng = make_python_random(seed)
    others: dict[ImageId, list[str]] = {}
    held_out: dict[ImageId, str] = {}
    for image, texts in references.items():
        if len(texts) < 2:
            raise MismatchError(f"every image must have at least two captions (got 1 for image {image!r})")
        held_out[image] = texts.pop(rng.randrange(len(texts)))
        others[image] = texts
    return References(others), Candidates(held_out)


def hold_out_several(
    captions: Mapping[ImageId, Sequence[str]], count: int = 2, *, seed: int = 0
) -> tuple[dict[ImageId, list[str]], dict[ImageId, list[str]]]:
    """Draw several captions per image as candidates; the others are its references.

    Args:
        captions: All human captions, by image.
        count: The number of candidates per image.
        seed: The seed; the draw of an image depends only on the seed and the image id.

    Returns:
        The candidates and the references of each image; the references keep their order.

    Raises:
        OptionError: `count` is below 1.
        MismatchError: An image has fewer than `count` + 1 captions.
    """
    validate_integer("count", count, 1)
    candidates: dict[ImageId, list[str]] = {}
    references: dict[ImageId, list[str]] = {}
    for image in captions:
        texts = list(captions[image])
        if len(texts) <= count:
            raise MismatchError(
                f"image {image!r} must have at least {count + 1} captions: {count} to hold out and one"
                f" reference (got {len(texts)})"
            )
        drawn = make_python_random(seed, repr(image)).sample(range(len(texts)), count)
        candidates[image] = [texts[place] for place in drawn]
        references[image] = [text for place, text in enumerate(texts) if place not in drawn]
    return candidates, references
