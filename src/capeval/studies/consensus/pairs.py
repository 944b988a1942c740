"""Pairs with references, and pairs with two kinds of judgment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from capeval.data.captions import ImageId
from capeval.errors import MismatchError
from capeval.errors.messages import format_images
from capeval.formats.judgments.plans import Pair

__all__ = ["judged_twice", "with_references"]


def with_references(pairs: Sequence[Pair], references: Mapping[ImageId, Sequence[str]]) -> tuple[Pair, ...]:
    """Return pairs with their images' references, without the compared captions.

    Raises:
        MismatchError: An image has no reference.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.consensus import with_references
        >>> pair = Pair(image=1, first="A dog runs.", second="A cat sleeps.")
        >>> references = {1: ["A dog runs.", "The dog is running.", "A dog on the grass."]}
        >>> with_references([pair], references)[0].references
        ('The dog is running.', 'A dog on the grass.')
    """
    compared: dict[ImageId, set[str]] = {}
    for pair in pairs:
        compared.setdefault(pair.image, set()).update((pair.first, pair.second))
    found = {
        image: tuple(text for text in references.get(image, ()) if text not in captions)
        for image, captions in compared.items()
    }
    missing = [image for image, texts in found.items() if not texts]
    if missing:
        raise MismatchError(f"{format_images(missing)} without a reference")
    return tuple(replace(pair, references=found[pair.image]) for pair in pairs)


def judged_twice(preferences: Sequence[Pair], pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Match each pair of one kind of judgment with its pair of another kind.

    Pairs match if image, class and both sentences are equal, apart from white space. If a pair occurs several
    times, occurrences match in order. The result is in the order of `preferences`.

    Raises:
        MismatchError: A pair has no judgment of the other kind.

    Example:
        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.consensus import judged_twice
        >>> triplets = [
        ...     Pair(image=1, first="A dog runs.", second="A cat.", votes=(1,)),
        ...     Pair(image=2, first="A dog.", second="Two cats.", votes=(-1,)),
        ... ]
        >>> pairwise = [
        ...     Pair(image=2, first="A dog.", second="Two cats.", votes=(-1, -1, 1)),
        ...     Pair(image=1, first="A dog runs.", second="A cat.", votes=(1, 1, 1)),
        ... ]
        >>> [pair.votes for pair in judged_twice(triplets, pairwise)]
        [(1, 1, 1), (-1, -1, 1)]
    """
    waiting: dict[tuple[ImageId | None, ...], list[Pair]] = {}
    for pair in pairs:
        waiting.setdefault(_get_pair_key(pair), []).append(pair)
    matching = []
    for place, pair in enumerate(preferences):
        same = waiting.get(_get_pair_key(pair))
        if not same:
            raise MismatchError(
                "every pair must have both kinds of judgment"
                f" (got one for pair {place} of image {pair.image!r})"
            )
        matching.append(same.pop(0))
    return tuple(matching)


def _get_pair_key(pair: Pair) -> tuple[ImageId | None, ...]:
    return (pair.image, pair.kind, " ".join(pair.first.split()), " ".join(pair.second.split()))
