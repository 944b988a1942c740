"""Construction of caption datasets: public and private splits.

The procedure follows COCO and nocaps (Chen et al. 2015, section 2; nocaps, section 3.1). Each split has a
number of references per image (c5), and some images of a split have many (c40). One additional caption of
each image with private captions is held out as the human baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capeval._internal.random import make_named_generator, split_randomly
from capeval._internal.validation import validate_integer
from capeval.data.captions import Candidates, ImageId, References, ReferencesLike
from capeval.errors import FormatError, FormatErrorKind, MismatchError, OptionError
from capeval.errors.messages import format_images
from capeval.formats.io.json import read_json
from capeval.formats.io.sources import add_path_to_errors

__all__ = [
    "BuiltSplit",
    "Dataset",
    "SplitPlan",
    "build_dataset",
    "load_plans",
    "name_references",
    "random_splits",
]

# The fields of a plan in a file, with their allowed types.
_FIELDS: dict[str, tuple[type, ...]] = {
    "images": (int, list, type(None)),
    "references": (int, type(None)),
    "private": (bool,),
    "held_out": (bool,),
    "many": (int, type(None)),
    "many_images": (int,),
    "training": (bool,),
}


@dataclass(frozen=True, kw_only=True)
class SplitPlan:
    """The plan of a split.

    Attributes:
        images: The images.
        references: The number of references per image (c5); None for all captions.
        private: Whether the captions are private, as in a test set.
        held_out: Whether one additional caption of each image is held out as the human baseline.
        many: The number of references per image in a second, larger set (c40); None for no such set.
        many_images: The number of images in the larger set.
        training: Whether the split is for training only: a challenge does not score it.
    """

    images: tuple[ImageId, ...]
    references: int | None = 5
    private: bool = False
    held_out: bool = False
    many: int | None = None
    many_images: int = 0
    training: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class BuiltSplit:
    """A split with its captions.

    Attributes:
        private: Whether the captions are private.
        references: The references of every image.
        many: The references of the images in the larger set; None if there is no such set.
        human: The held-out caption of each image; None if none are held out.
        training: Whether the split is for training only.
    """

    private: bool
    references: References
    many: References | None
    human: Candidates | None
    training: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """A dataset of captions.

    Attributes:
        splits: The splits by name.
        unused: The captions in no split, by image.
        seed: The seed of the draws of captions and images.
    """

    splits: Mapping[str, BuiltSplit]
    unused: Mapping[ImageId, Sequence[str]]
    seed: int


def name_references(references: References) -> str:
    """Return the name of a reference set: `c5` for five references per image, or `c5-7` for five to seven.

    Example:
        >>> from capeval import References
        >>> from capeval.datasets.building import name_references
        >>> name_references(References({1: ["a dog", "the dog"], 2: ["a cat"]}))
        'c1-2'
    """
    fewest, most = int(references.counts.min()), int(references.counts.max())
    return f"c{most}" if fewest == most else f"c{fewest}-{most}"


def random_splits(
    images: Sequence[ImageId], sizes: Mapping[str, int], *, seed: int = 0
) -> dict[str, tuple[ImageId, ...]]:
    """Assign images to splits at random; each split keeps the original order.

    Raises:
        OptionError: A size is below 1, or an image occurs twice.
        MismatchError: The sizes don't add up to the number of images.

    Example:
        >>> from capeval.datasets.building import random_splits
        >>> splits = random_splits(range(1, 11), {"train": 7, "val": 2, "test": 1})
        >>> {name: len(images) for name, images in splits.items()}
        {'train': 7, 'val': 2, 'test': 1}
    """
    for split, size in sizes.items():
        validate_integer(split, size, 1)
    validate_integer("seed", seed, 0)
    if len(set(images)) < len(images):
        raise OptionError("'images' must not contain duplicates")
    if sum(sizes.values()) != len(images):
        total = sum(sizes.values())
        raise MismatchError(
            f"the sizes of splits must add up to the {len(images):,} images to assign (got {total:,})"
        )
    dealt = split_randomly(images, list(sizes.values()), seed=seed)
    return {name: tuple(group) for name, group in zip(sizes, dealt, strict=True)}


def load_plans(path: str | Path, images: Sequence[ImageId], *, seed: int = 0) -> dict[str, SplitPlan]:
    """Read plans from JSON, such as `{"SPLIT": {"images": 500, "references": 5}}`.

    `images` is a list of ids, or the number of images to draw at random from those that no split lists, or
    null for all remaining images. The other fields are the attributes of `SplitPlan`.

    Args:
        path: The file.
        images: All images with captions.
        seed: The seed of the random assignment.

    Raises:
        FormatError: The file is invalid.
        MismatchError: The numbers don't add up to the number of images that no split lists.
        OptionError: A number is below 1.
        OSError: The file can't be read.

    Example:
        The file lists the images of `test`. The other two images become `train`:

        >>> from pathlib import Path
        >>> from capeval.datasets.building import load_plans
        >>> text = '{"train": {"images": 2}, "test": {"images": [3, 4], "references": 2, "private": true}}'
        >>> _ = Path("plans.json").write_text(text)
        >>> plans = load_plans("plans.json", [1, 2, 3, 4])
        >>> plans["train"].images, plans["test"].images, plans["test"].references
        ((1, 2), (3, 4), 2)
    """
    content = _read_plans(Path(path))
    listed = {
        image for plan in content.values() if isinstance(plan["images"], list) for image in plan["images"]
    }
    rest = [image for image in images if image not in listed]
    drawn = {name: plan["images"] for name, plan in content.items() if not isinstance(plan["images"], list)}
    remaining = len(rest) - sum(size for size in drawn.values() if size is not None)
    sizes = {name: remaining if size is None else size for name, size in drawn.items()}
    dealt = random_splits(rest, sizes, seed=seed) if sizes else {}
    return {
        name: SplitPlan(**{**plan, "images": dealt[name] if name in dealt else tuple(plan["images"])})
        for name, plan in content.items()
    }


def _read_plans(path: Path) -> dict[str, dict[str, Any]]:
    def wrong(message: str) -> FormatError:
        return FormatError(message, kind=FormatErrorKind.WRONG_TYPE, path=path)

    with add_path_to_errors(path):
        content = read_json(path)
    if not isinstance(content, dict) or not content:
        raise wrong("the file must be a JSON object with at least one split")
    for name, plan in content.items():
        if not isinstance(plan, dict) or "images" not in plan:
            raise wrong(f'split {name!r} must be an object with "images" (got {plan!r:.60})')
        unknown = plan.keys() - _FIELDS.keys()
        if unknown:
            raise wrong(
                f"split {name!r}: unknown field {min(unknown)!r}; the fields are {', '.join(_FIELDS)}"
            )
        for field, value in plan.items():
            if type(value) not in _FIELDS[field]:
                raise wrong(f"split {name!r}: {field!r} has the wrong type (got {value!r:.60})")
        if isinstance(plan["images"], list) and any(type(i) not in (int, str) for i in plan["images"]):
            raise wrong(f'split {name!r}: "images" must be integers or strings')
    remaining = [name for name, plan in content.items() if plan["images"] is None]
    if len(remaining) > 1:
        raise wrong(f'only one split can have "images": null, all remaining images (got {remaining})')
    return content


def build_dataset(captions: ReferencesLike, splits: Mapping[str, SplitPlan], *, seed: int = 0) -> Dataset:
    """Assign the collected captions to splits.

    The captions of an image are shuffled. If the plan holds out a caption, it is the first one; the next ones
    are the references. The larger set starts with the same references, so c5 is part of c40. The draw of an
    image depends only on the seed and the image, not on other splits.

    Args:
        captions: All collected captions, in the order in which the files will contain them.
        splits: The plan of each split.
        seed: The seed of the draws.

    Raises:
        MismatchError: An image is in two splits, or has no captions or too few.
        OptionError: A plan or the seed has an invalid value.

    Example:
        One of the three captions of image 2 is held out as the human baseline:

        >>> from capeval.datasets.building import SplitPlan, build_dataset
        >>> captions = {1: ["A dog runs."], 2: ["Two cats.", "Cats on a bed.", "Two cats sleep on a bed."]}
        >>> train = SplitPlan(images=(1,), references=1)
        >>> test = SplitPlan(images=(2,), references=2, private=True, held_out=True)
        >>> splits = build_dataset(captions, {"train": train, "test": test}).splits
        >>> dict(splits["train"].references)
        {1: ['A dog runs.']}
        >>> len(splits["test"].references[2]), len(splits["test"].human[2])
        (2, 1)
    """
    validate_integer("seed", seed, 0)
    if not splits:
        raise OptionError("a dataset must have at least one split (got none)")
    captions = References(captions)
    _require_disjoint(splits)
    built, unused = {}, {}
    for name, plan in splits.items():
        _check_plan(name, plan)
        missing = [image for image in plan.images if image not in captions]
        if missing:
            raise MismatchError(f"split {name!r}: {format_images(missing)} not among those with captions")
        built[name], rest = _build_split(name, plan, captions, seed)
        unused.update(rest)
    return Dataset(splits=built, unused=unused, seed=seed)


def _build_split(
    name: str, plan: SplitPlan, captions: References, seed: int
) -> tuple[BuiltSplit, dict[ImageId, list[str]]]:
    chosen = make_named_generator(seed, f"many/{name}").permutation(len(plan.images))[: plan.many_images]
    with_many = {plan.images[position] for position in chosen.tolist()}
    human: dict[ImageId, str] = {}
    references: dict[ImageId, list[str]] = {}
    many: dict[ImageId, list[str]] = {}
    unused: dict[ImageId, list[str]] = {}
    for image in plan.images:
        texts = captions[image]
        order = make_named_generator(seed, repr(image)).permutation(len(texts)).tolist()
        held, left = (order[:1], order[1:]) if plan.held_out else ([], order)
        few = plan.references if plan.references is not None else max(1, len(left))
        wanted = max(few, plan.many or 0) if image in with_many else few
        if len(left) < wanted:
            raise MismatchError(
                f"split {name!r}: image {image!r} must have at least {wanted + len(held)} captions"
                f" (got {len(texts)})"
            )
        human.update((image, texts[position]) for position in held)
        # Restore the order in which they were collected.
        references[image] = [texts[position] for position in sorted(left[:few])]
        if image in with_many:
            many[image] = [texts[position] for position in sorted(left[: plan.many])]
        if left[wanted:]:
            unused[image] = [texts[position] for position in sorted(left[wanted:])]
    split = BuiltSplit(
        private=plan.private,
        references=References(references),
        many=References(many) if many else None,
        human=Candidates(human) if human else None,
        training=plan.training,
    )
    return split, unused


def _require_disjoint(splits: Mapping[str, SplitPlan]) -> None:
    homes: dict[ImageId, str] = {}
    for name, plan in splits.items():
        for image in plan.images:
            if image in homes:
                raise MismatchError(
                    f"each image must occur once, in one split (got image {image!r} in {homes[image]!r}"
                    f" and {name!r})"
                )
            homes[image] = name


def _check_plan(name: str, plan: SplitPlan) -> None:
    plain = name.replace("-", "").replace("_", "")
    if not plain.isalnum() or name.endswith("_many"):
        raise OptionError(
            "a split's name must consist of letters, digits, '-' and '_', and must not end in '_many'"
            f" (got {name!r})"
        )
    for field, value in (("references", plan.references), ("many", plan.many)):
        if value is not None:
            validate_integer(field, value, 1, error=lambda message: OptionError(f"split {name!r}: {message}"))
    if plan.training and plan.private:
        raise OptionError(f"split {name!r}: a split for training can't be private")
    if not plan.images:
        raise OptionError(f"split {name!r} must have at least one image (got none)")
    if (plan.many is None) != (plan.many_images == 0) or not 0 <= plan.many_images <= len(plan.images):
        raise OptionError(
            f"split {name!r}: 'many' requires 'many_images' from 1 to the split's {len(plan.images):,} images"
            f" (got {plan.many} and {plan.many_images})"
        )
    if plan.many is not None and plan.references is not None and plan.many < plan.references:
        raise OptionError(
            f"split {name!r}: 'many' must be at least 'references', {plan.references} (got {plan.many})"
        )
