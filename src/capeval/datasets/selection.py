"""Choosing the images of a benchmark (nocaps, section 3.1): images with many classes, and all classes evenly.

Each image counts once for each class in it, and the entropy over classes is that of the counts of the chosen
images. With T counts in all and n_c of class c it is `log T - (sum of n_c log n_c) / T`. The images of one
pool have the same number of classes, so the best image of a sample is the one whose classes make that sum
grow least, and the growth is a sum of one number for each class of the image. A choice among n sampled images
of s classes costs O(n s), whatever the number of candidates and of classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capeval._internal.random import generator
from capeval._internal.validation import checked_integer
from capeval.data.scores import FloatArray
from capeval.datasets.open_images import ObjectAnnotations
from capeval.errors import MismatchError

__all__ = [
    "ChoiceStatistics",
    "ChoiceStudy",
    "Chosen",
    "choice_statistics",
    "choose_images",
    "choose_randomly",
    "study_choice",
]

_POOLS = range(2, 7)
# Progress is reported after this many choices.
_REPORTED_EVERY = 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class Chosen:
    """The images chosen.

    Attributes:
        positions: Their positions among the annotations' images: first all with more than six classes, then
            in the order in which they were chosen.
        candidates: The positions of the images that could be chosen.
        excluded: How many images were not candidates, by reason.
        complex_images: How many have more than six classes, and were taken without choice.
    """

    positions: NDArray[np.int64]
    candidates: NDArray[np.int64]
    excluded: Mapping[str, int]
    complex_images: int


@dataclass(frozen=True, kw_only=True, eq=False)
class ChoiceStatistics:
    """The statistics of a set of images.

    Attributes:
        images: The number of images.
        entropy: The entropy over classes, in bits.
        classes: The number of classes in at least one of the images.
        classes_per_image: The mean number of classes.
        instances_per_image: The mean number of boxes.
        by_classes: The number of images by their number of classes.
        largest_share: The share of the most frequent class in all counts.
    """

    images: int
    entropy: float
    classes: int
    classes_per_image: float
    instances_per_image: float
    by_classes: Mapping[int, int]
    largest_share: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ChoiceStudy:
    """The chosen images, a random choice of the same number, and all candidates.

    Attributes:
        annotations: The objects in each image.
        chosen: The images chosen.
        positions: The positions of the images of each set: `chosen`, `random` and `candidates`.
        statistics: The statistics of each set.
    """

    annotations: ObjectAnnotations
    chosen: Chosen
    positions: Mapping[str, NDArray[np.int64]]
    statistics: Mapping[str, ChoiceStatistics]

    def class_counts(self, name: str) -> NDArray[np.int64]:
        """How many images of a set have each class."""
        pairs = np.isin(self.annotations.image, self.positions[name])
        return np.bincount(self.annotations.label[pairs], minlength=len(self.annotations.classes))


def study_choice(annotations: ObjectAnnotations, chosen: Chosen, *, seed: int = 0) -> ChoiceStudy:
    """Compares the chosen images with a random choice of the same number and with all candidates.

    Args:
        annotations: The objects in each image.
        chosen: The images that `choose_images` chose from them.
        seed: The seed of the random choice.

    Raises:
        OptionError: The seed is negative.
    """
    positions = {
        "chosen": chosen.positions,
        "random": choose_randomly(chosen, seed=seed),
        "candidates": chosen.candidates,
    }
    statistics = {name: choice_statistics(annotations, each) for name, each in positions.items()}
    return ChoiceStudy(annotations=annotations, chosen=chosen, positions=positions, statistics=statistics)


def choose_images(
    annotations: ObjectAnnotations,
    wanted: int,
    *,
    rotations: Mapping[str, float | None] | None = None,
    sample: int = 100,
    seed: int = 0,
    progress: Callable[[str], object] = lambda _: None,
) -> Chosen:
    """Chooses images as nocaps did.

    Images with unknown or non-zero rotation, and images with a single class, are not candidates. All images
    with more than six classes are chosen. Then pools of images with 2, 3, 4, 5 and 6 classes take turns: of
    `sample` images drawn from the pool, the one that gives the highest entropy over classes is chosen; of
    equally good ones, the first drawn. A pool with fewer images left offers all of them; an empty pool is
    skipped.

    Args:
        annotations: The objects in each image.
        wanted: How many images to choose.
        rotations: The rotation of each image; without it, no image is excluded for its rotation.
        sample: The number of images drawn for each choice, which the paper does not give.
        seed: The seed of the draws. The same seed and annotations give the same images.
        progress: Called now and then with how many are chosen.

    Raises:
        MismatchError: An image has no entry among the rotations, or there are fewer candidates than wanted,
            or more images with more than six classes.
        OptionError: `wanted` or `sample` is not 1 or more, or the seed is negative.
    """
    checked_integer("wanted", wanted, 1)
    checked_integer("sample", sample, 1)
    rng = generator(seed)
    candidates, excluded = _candidates(annotations, rotations)
    if len(candidates) < wanted:
        raise MismatchError(f"'wanted' must be at most the {len(candidates):,} candidates (got {wanted:,})")
    sizes = np.bincount(annotations.image, minlength=len(annotations.image_ids))
    taken = candidates[sizes[candidates] > _POOLS[-1]]
    if len(taken) > wanted:
        raise MismatchError(
            f"all {len(taken):,} images of more than six classes are chosen, so 'wanted' must be at least "
            f"that (got {wanted:,})"
        )
    counts = np.bincount(
        annotations.label[np.isin(annotations.image, taken)], minlength=len(annotations.classes)
    )
    pools = [_Pool(annotations, candidates[sizes[candidates] == size], sizes, size) for size in _POOLS]
    growth = _Growth(counts)
    chosen: list[int] = []
    while len(taken) + len(chosen) < wanted:
        for pool in pools:
            if pool.left and len(taken) + len(chosen) < wanted:
                chosen.append(pool.choose(growth, sample, rng))
                if len(chosen) % _REPORTED_EVERY == 0:
                    progress(f"{len(taken) + len(chosen):,} of {wanted:,} images chosen")
    return Chosen(
        positions=np.concatenate([taken, np.array(chosen, dtype=np.int64)]),
        candidates=candidates,
        excluded=excluded,
        complex_images=len(taken),
    )


def choose_randomly(chosen: Chosen, *, seed: int = 0) -> NDArray[np.int64]:
    """The same number of candidates, drawn at random.

    Raises:
        OptionError: The seed is negative.
    """
    drawn = generator(seed).choice(chosen.candidates, len(chosen.positions), replace=False)
    return drawn.astype(np.int64)


def choice_statistics(annotations: ObjectAnnotations, positions: NDArray[np.int64]) -> ChoiceStatistics:
    """The statistics of the images at some positions.

    Raises:
        MismatchError: There is no image.
    """
    if not len(positions):
        raise MismatchError("statistics need at least one image (got none)")
    pairs = np.isin(annotations.image, positions)
    counts = np.bincount(annotations.label[pairs], minlength=len(annotations.classes))
    shares = counts[counts > 0] / counts.sum()
    sizes = np.bincount(annotations.image[pairs], minlength=len(annotations.image_ids))[positions]
    numbers, images = np.unique(sizes, return_counts=True)
    return ChoiceStatistics(
        images=len(positions),
        entropy=float(-(shares * np.log2(shares)).sum()),
        classes=len(shares),
        classes_per_image=float(sizes.mean()),
        instances_per_image=float(annotations.instances[pairs].sum() / len(positions)),
        by_classes=dict(zip(numbers.tolist(), images.tolist(), strict=True)),
        largest_share=float(shares.max()),
    )


def _candidates(
    annotations: ObjectAnnotations, rotations: Mapping[str, float | None] | None
) -> tuple[NDArray[np.int64], dict[str, int]]:
    several = np.bincount(annotations.image, minlength=len(annotations.image_ids)) > 1
    upright = np.ones(len(annotations.image_ids), dtype=bool)
    known = upright.copy()
    if rotations is not None:
        missing = [image for image in annotations.image_ids if image not in rotations]
        if missing:
            raise MismatchError(f"every image must have a rotation (got none for {missing[0]!r})")
        degrees = [rotations[image] for image in annotations.image_ids]
        known = np.array([each is not None for each in degrees])
        upright = np.array([each == 0 for each in degrees]) | ~known
    excluded = {
        "unknown rotation": int((~known).sum()),
        "rotated": int((~upright).sum()),
        "single class": int((known & upright & ~several).sum()),
    }
    return np.flatnonzero(known & upright & several), excluded


class _Growth:
    """How much the sum of n log n grows when a class is counted once more."""

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self._counts = counts.astype(np.float64)
        self.by_class: FloatArray = _growth(self._counts)

    def count(self, classes: NDArray[np.int64]) -> None:
        self._counts[classes] += 1
        self.by_class[classes] = _growth(self._counts[classes])


def _growth(counts: FloatArray) -> FloatArray:
    # Rounded, so that classes with equal counts tie whatever the platform's logarithm.
    grown: FloatArray = (counts + 1) * np.log(counts + 1) - counts * np.log(np.maximum(counts, 1))
    return np.round(grown, 12)


class _Pool:
    """The images of one number of classes that are left."""

    def __init__(
        self,
        annotations: ObjectAnnotations,
        images: NDArray[np.int64],
        sizes: NDArray[np.int64],
        size: int,
    ) -> None:
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        by_image = annotations.label[np.argsort(annotations.image, kind="stable")]
        self._images = images
        self._classes = by_image[starts[images][:, None] + np.arange(size)]
        self._order = np.arange(len(images))
        self.left = len(images)

    def choose(self, growth: _Growth, sample: int, rng: np.random.Generator) -> int:
        """Takes the image of a sample that gives the highest entropy."""
        if sample < self.left:
            drawn = rng.choice(self.left, sample, replace=False, shuffle=False)
        else:
            drawn = np.arange(self.left)
        classes = self._classes[self._order[drawn]]
        best = drawn[growth.by_class[classes].sum(axis=1).argmin()]
        image = self._order[best]
        growth.count(self._classes[image])
        self.left -= 1
        self._order[best] = self._order[self.left]
        return int(self._images[image])
