"""Selection of benchmark images with many, evenly distributed classes.

The procedure is described in section 3.1 of nocaps.

Each image counts once for each class in it, and the entropy over classes is computed from the counts of the
chosen images. With T counts in total and n_c for class c, it is `log T - (sum of n_c log n_c) / T`. The
images of one pool have the same number of classes. The best image of a sample is therefore the one with
classes that increase this sum least, and the increase is a sum of one number per class of the image. A choice
among n sampled images of s classes takes O(n s), for any number of candidates and classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capeval._internal.random import make_generator
from capeval._internal.validation import validate_integer
from capeval.data.scores import FloatArray
from capeval.datasets.open_images import ObjectAnnotations
from capeval.errors import MismatchError

__all__ = [
    "ChoiceStatistics",
    "ChoiceStudy",
    "Selection",
    "choose_images",
    "choose_randomly",
    "compare_selection",
    "compute_statistics",
]

_POOLS = range(2, 7)
# The number of choices between progress reports.
_REPORTED_EVERY = 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection:
    """The chosen images.

    Attributes:
        positions: Their positions among the annotations' images: first all images with more than six classes,
            and then the others in the order of choice.
        candidates: The positions of the images that could be chosen.
        excluded: The number of images that were not candidates, by reason.
        complex_images: The number of images with more than six classes, which are always chosen.
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
    r"""The chosen images, a random choice of the same number, and all candidates.

    Attributes:
        annotations: The objects in each image.
        chosen: The images chosen.
        positions: The positions of the images of each set: `chosen`, `random` and `candidates`.
        statistics: The statistics of each set.

    Example:
        >>> from capeval.datasets.open_images import load_boxes
        >>> from capeval.datasets.selection import choose_images, compare_selection
        >>> rows = ["ImageID,LabelName", "a,Dog", "a,Ball", "b,Dog", "b,Ball", "c,Car", "c,Tree"]
        >>> boxes = load_boxes("\n".join(rows).encode())
        >>> study = compare_selection(boxes, choose_images(boxes, 2))
        >>> boxes.classes
        ('Ball', 'Car', 'Dog', 'Tree')
        >>> study.class_counts("candidates").tolist()
        [2, 1, 2, 1]
        >>> study.class_counts("chosen").tolist()
        [1, 1, 1, 1]
    """

    annotations: ObjectAnnotations
    chosen: Selection
    positions: Mapping[str, NDArray[np.int64]]
    statistics: Mapping[str, ChoiceStatistics]

    def class_counts(self, name: str) -> NDArray[np.int64]:
        """Return the number of images in a set with each class."""
        pairs = np.isin(self.annotations.image, self.positions[name])
        return np.bincount(self.annotations.label[pairs], minlength=len(self.annotations.classes))


def compare_selection(annotations: ObjectAnnotations, chosen: Selection, *, seed: int = 0) -> ChoiceStudy:
    r"""Compare the chosen images with as many random ones and with all candidates.

    Args:
        annotations: The objects in each image.
        chosen: The images chosen by `choose_images`.
        seed: The seed of the random choice.

    Raises:
        OptionError: The seed is negative.

    Example:
        Images `a` and `b` have the same classes. The chosen images are `a` and `c`; the random ones are
        `a` and `b`:

        >>> from capeval.datasets.open_images import load_boxes
        >>> from capeval.datasets.selection import choose_images, compare_selection
        >>> rows = ["ImageID,LabelName", "a,Dog", "a,Ball", "b,Dog", "b,Ball", "c,Car", "c,Tree"]
        >>> boxes = load_boxes("\n".join(rows).encode())
        >>> study = compare_selection(boxes, choose_images(boxes, 2), seed=1)
        >>> {name: round(each.entropy, 2) for name, each in study.statistics.items()}
        {'chosen': 2.0, 'random': 1.0, 'candidates': 1.92}
    """
    positions = {
        "chosen": chosen.positions,
        "random": choose_randomly(chosen, seed=seed),
        "candidates": chosen.candidates,
    }
    statistics = {name: compute_statistics(annotations, each) for name, each in positions.items()}
    return ChoiceStudy(annotations=annotations, chosen=chosen, positions=positions, statistics=statistics)


def choose_images(
    annotations: ObjectAnnotations,
    wanted: int,
    *,
    rotations: Mapping[str, float | None] | None = None,
    sample: int = 100,
    seed: int = 0,
    progress: Callable[[str], object] = lambda _: None,
) -> Selection:
    r"""Choose images with the procedure of nocaps.

    Images with unknown or non-zero rotation, and images with a single class, are not candidates. All images
    with more than six classes are chosen. Then the pools of images with 2, 3, 4, 5 and 6 classes alternate:
    of `sample` images drawn from the pool, the image with the highest resulting entropy over classes is
    chosen; of equally good images, the first drawn. A pool with fewer images draws all of them; an empty pool
    is skipped.

    Args:
        annotations: The objects in each image.
        wanted: The number of images to choose.
        rotations: The rotation of each image; None to exclude no image for its rotation.
        sample: The number of images drawn for each choice, which the paper does not state.
        seed: The seed of the draws. The same seed and annotations yield the same images.
        progress: A callback that regularly receives a message with the number of chosen images.

    Raises:
        MismatchError: An image is missing from the rotations, there are fewer candidates than wanted, or more
            than `wanted` images have more than six classes.
        OptionError: `wanted` or `sample` is below 1, or the seed is negative.

    Example:
        Images `a` and `b` have the same classes, so `c` is chosen after `a`:

        >>> from capeval.datasets.open_images import load_boxes
        >>> from capeval.datasets.selection import choose_images
        >>> rows = ["ImageID,LabelName", "a,Dog", "a,Ball", "b,Dog", "b,Ball", "c,Car", "c,Tree"]
        >>> boxes = load_boxes("\n".join(rows).encode())
        >>> chosen = choose_images(boxes, 2)
        >>> [boxes.image_ids[position] for position in chosen.positions]
        ['a', 'c']
    """
    validate_integer("wanted", wanted, 1)
    validate_integer("sample", sample, 1)
    rng = make_generator(seed)
    candidates, excluded = _find_candidates(annotations, rotations)
    if len(candidates) < wanted:
        raise MismatchError(f"'wanted' must be at most the {len(candidates):,} candidates (got {wanted:,})")
    sizes = np.bincount(annotations.image, minlength=len(annotations.image_ids))
    taken = candidates[sizes[candidates] > _POOLS[-1]]
    if len(taken) > wanted:
        raise MismatchError(
            f"'wanted' must be at least {len(taken):,}, the number of images with more than six classes,"
            f" which are always chosen (got {wanted:,})"
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
    return Selection(
        positions=np.concatenate([taken, np.array(chosen, dtype=np.int64)]),
        candidates=candidates,
        excluded=excluded,
        complex_images=len(taken),
    )


def choose_randomly(chosen: Selection, *, seed: int = 0) -> NDArray[np.int64]:
    r"""Draw the same number of candidates at random.

    Raises:
        OptionError: The seed is negative.

    Example:
        >>> from capeval.datasets.open_images import load_boxes
        >>> from capeval.datasets.selection import choose_images, choose_randomly
        >>> rows = ["ImageID,LabelName", "a,Dog", "a,Ball", "b,Dog", "b,Ball", "c,Car", "c,Tree"]
        >>> boxes = load_boxes("\n".join(rows).encode())
        >>> chosen = choose_images(boxes, 2)
        >>> chosen.positions.tolist()
        [0, 2]
        >>> choose_randomly(chosen, seed=1).tolist()
        [0, 1]
    """
    drawn = make_generator(seed).choice(chosen.candidates, len(chosen.positions), replace=False)
    return drawn.astype(np.int64)


def compute_statistics(annotations: ObjectAnnotations, positions: NDArray[np.int64]) -> ChoiceStatistics:
    r"""Compute the statistics of the images at some positions.

    Raises:
        MismatchError: There are no positions.

    Example:
        An image with two dogs and a tree, and an image with a dog and a ball:

        >>> import numpy as np
        >>> from capeval.datasets.open_images import load_boxes
        >>> from capeval.datasets.selection import compute_statistics
        >>> rows = ["ImageID,LabelName", "a,Dog", "a,Dog", "a,Tree", "b,Dog", "b,Ball"]
        >>> statistics = compute_statistics(load_boxes("\n".join(rows).encode()), np.array([0, 1]))
        >>> statistics.classes, statistics.classes_per_image, statistics.instances_per_image
        (3, 2.0, 2.5)
        >>> round(statistics.entropy, 3), statistics.largest_share
        (1.5, 0.5)
    """
    if not len(positions):
        raise MismatchError("statistics require at least one image (got none)")
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


def _find_candidates(
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
    """The increase in the sum of n log n if a class is counted once more."""

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self._counts = counts.astype(np.float64)
        self.by_class: FloatArray = _compute_growth(self._counts)

    def count(self, classes: NDArray[np.int64]) -> None:
        self._counts[classes] += 1
        self.by_class[classes] = _compute_growth(self._counts[classes])


def _compute_growth(counts: FloatArray) -> FloatArray:
    # Rounded, so that classes with equal counts tie on every platform, despite differences in `log`.
    grown: FloatArray = (counts + 1) * np.log(counts + 1) - counts * np.log(np.maximum(counts, 1))
    return np.round(grown, 12)


class _Pool:
    """The remaining images with a certain number of classes."""

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
        """Remove and return the image of a sample with the highest resulting entropy."""
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
