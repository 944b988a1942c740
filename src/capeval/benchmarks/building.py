"""Building a dataset of captions: its splits, what is public, and versions that never change.

COCO and nocaps were built this way (Chen et al. 2015, section 2; nocaps, section 3.1): every split has a
number of references per image (c5), some images of a split have many (c40), and of each image with private
captions one more caption is held out as the human baseline.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capeval.checks import checked_integer
from capeval.errors import FormatError, FormatErrorKind, MismatchError, OptionError
from capeval.files import written_whole
from capeval.formats.captions import coco_annotations, coco_results
from capeval.formats.json import json_bytes, read_json
from capeval.formats.sources import naming
from capeval.messages import first_few
from capeval.sampling import deal, named_generator
from capeval.types import Candidates, ImageId, References, ReferencesLike

__all__ = [
    "BuiltSplit",
    "Dataset",
    "ImageInfo",
    "SplitPlan",
    "build_dataset",
    "freeze",
    "load_plans",
    "random_splits",
    "verify",
]

ImageInfo = Mapping[int, Mapping[str, Any]] | Mapping[str, Mapping[str, Any]]
"""Fields of images in the files, such as `file_name`, `width` and `height`, by image id."""

_MANIFEST = "manifest.json"
# The fields of a plan in a file, with the types that each may have.
_FIELDS: dict[str, tuple[type, ...]] = {
    "images": (int, list),
    "references": (int, type(None)),
    "private": (bool,),
    "held_out": (bool,),
    "many": (int, type(None)),
    "many_images": (int,),
}


@dataclass(frozen=True, kw_only=True)
class SplitPlan:
    """The plan of a split.

    Attributes:
        images: Its images.
        references: How many references each image has (c5); None for all captions.
        private: Whether the captions are private, as those of a test set are.
        held_out: Whether one more caption of each image is held out, as the human baseline.
        many: How many references some of the images have in a second set (c40); None for no such set.
        many_images: How many images have them.
    """

    images: tuple[ImageId, ...]
    references: int | None = 5
    private: bool = False
    held_out: bool = False
    many: int | None = None
    many_images: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class BuiltSplit:
    """A split with its captions.

    Attributes:
        private: Whether its captions are private.
        references: The references of every image.
        many: The references of the images that have many; None where the split has no such set.
        human: The caption held out of each image; None where none are held out.
    """

    private: bool
    references: References
    many: References | None
    human: Candidates | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """A dataset of captions.

    Attributes:
        splits: The splits by name.
        unused: The captions that no split took, by image.
        seed: The seed that captions and images were drawn with.
    """

    splits: Mapping[str, BuiltSplit]
    unused: Mapping[ImageId, Sequence[str]]
    seed: int


def random_splits(
    images: Sequence[ImageId], sizes: Mapping[str, int], *, seed: int = 0
) -> dict[str, tuple[ImageId, ...]]:
    """Assigns images to splits at random; the images of a split stay in their order.

    Raises:
        OptionError: A size is below 1, or an image occurs twice.
        MismatchError: The sizes don't add up to the number of images.
    """
    for split, size in sizes.items():
        checked_integer(split, size, 1)
    checked_integer("seed", seed, 0)
    if len(set(images)) < len(images):
        raise OptionError("images must be different (got one twice)")
    if sum(sizes.values()) != len(images):
        total = sum(sizes.values())
        raise MismatchError(
            f"sizes of splits must add up to the {len(images):,} images to assign (got {total:,})"
        )
    dealt = deal(images, list(sizes.values()), seed=seed)
    return {name: tuple(group) for name, group in zip(sizes, dealt, strict=True)}


def load_plans(path: str | Path, images: Sequence[ImageId], *, seed: int = 0) -> dict[str, SplitPlan]:
    """Reads plans from JSON: `{"SPLIT": {"images": 500, "references": 5, ...}, ...}`.

    `images` is a list of ids, or how many to deal out at random among those that no split lists; the other
    fields are those of `SplitPlan`.

    Args:
        path: The file.
        images: All images that have captions.
        seed: The seed of the deal.

    Raises:
        FormatError: The file is something else.
        MismatchError: The numbers don't add up to the images that no split lists.
        OptionError: A number is below 1.
        OSError: The file can't be read.
    """
    content = _plans_of(Path(path))
    listed = {
        image for plan in content.values() if isinstance(plan["images"], list) for image in plan["images"]
    }
    sizes = {name: plan["images"] for name, plan in content.items() if isinstance(plan["images"], int)}
    rest = [image for image in images if image not in listed]
    dealt = random_splits(rest, sizes, seed=seed) if sizes else {}
    return {
        name: SplitPlan(**{**plan, "images": dealt[name] if name in dealt else tuple(plan["images"])})
        for name, plan in content.items()
    }


def _plans_of(path: Path) -> dict[str, dict[str, Any]]:
    def wrong(message: str) -> FormatError:
        return FormatError(message, kind=FormatErrorKind.WRONG_TYPE, path=path)

    with naming(path):
        content = read_json(path)
    if not isinstance(content, dict) or not content:
        raise wrong("the file must be an object of splits, at least one (got something else)")
    for name, plan in content.items():
        if not isinstance(plan, dict) or "images" not in plan:
            raise wrong(f'split {name!r} must be an object with "images" (got {plan!r:.60})')
        unknown = plan.keys() - _FIELDS.keys()
        if unknown:
            raise wrong(f"split {name!r}: unknown field {min(unknown)!r}; there are {', '.join(_FIELDS)}")
        for field, value in plan.items():
            if type(value) not in _FIELDS[field]:
                raise wrong(f"split {name!r}: {field!r} must have another type (got {value!r:.60})")
        if isinstance(plan["images"], list) and any(type(i) not in (int, str) for i in plan["images"]):
            raise wrong(f'split {name!r}: "images" must be integers or strings')
    return content


def build_dataset(captions: ReferencesLike, splits: Mapping[str, SplitPlan], *, seed: int = 0) -> Dataset:
    """Assigns the collected captions to splits.

    The captions of an image are put in random order: the first is held out where the plan says so, the next
    are its references, and those of the larger set begin with these, so that c5 is part of c40. The draw
    of an image depends only on the seed and the image: other splits don't change it.

    Args:
        captions: All captions collected, in the order in which they are in the files.
        splits: What each split is to have.
        seed: The seed of the draws.

    Raises:
        MismatchError: An image is in two splits, has no captions, or has too few.
        OptionError: A plan or the seed has a value that is not allowed.
    """
    if not splits or seed < 0:
        raise OptionError("a dataset must have at least one split, and a seed of at least 0")
    captions = References(captions)
    _require_apart(splits)
    built, unused = {}, {}
    for name, plan in splits.items():
        _check_plan(name, plan)
        missing = [image for image in plan.images if image not in captions]
        if missing:
            raise MismatchError(f"split {name!r}: {first_few(missing)} not among those with captions")
        built[name], rest = _split(name, plan, captions, seed)
        unused.update(rest)
    return Dataset(splits=built, unused=unused, seed=seed)


def _split(
    name: str, plan: SplitPlan, captions: References, seed: int
) -> tuple[BuiltSplit, dict[ImageId, list[str]]]:
    chosen = named_generator(seed, f"many/{name}").permutation(len(plan.images))[: plan.many_images]
    with_many = {plan.images[position] for position in chosen.tolist()}
    human: dict[ImageId, str] = {}
    references: dict[ImageId, list[str]] = {}
    many: dict[ImageId, list[str]] = {}
    unused: dict[ImageId, list[str]] = {}
    for image in plan.images:
        texts = captions[image]
        order = named_generator(seed, repr(image)).permutation(len(texts)).tolist()
        held, left = (order[:1], order[1:]) if plan.held_out else ([], order)
        few = plan.references if plan.references is not None else max(1, len(left))
        wanted = max(few, plan.many or 0) if image in with_many else few
        if len(left) < wanted:
            raise MismatchError(
                f"split {name!r}: image {image!r} must have at least {wanted + len(held)} captions "
                f"(got {len(texts)})"
            )
        human.update((image, texts[position]) for position in held)
        # In the order in which they were collected.
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
    )
    return split, unused


def freeze(
    dataset: Dataset,
    folder: str | Path,
    *,
    version: str,
    description: str = "",
    image_info: ImageInfo | None = None,
) -> Path:
    """Writes a version of a dataset, as COCO JSON, with the checksum of every file.

    Below `folder/version`: `public/` has `captions_SPLIT.json` of public splits and `image_info_SPLIT.json`
    of private ones; `private/` has the captions of private splits, `captions_SPLIT_many.json` and
    `human_SPLIT.json` (COCO results). `manifest.json` is written last: a version without it is incomplete.

    Args:
        dataset: The dataset.
        folder: The folder of all versions.
        version: The version's name, such as `1.0`.
        description: The description in each file's `info`.
        image_info: What files say of an image, such as `file_name`, `width` and `height`.

    Returns:
        The version's folder.

    Raises:
        OptionError: The version is not a plain name or exists already, or `image_info` has a field `id`.
        OSError: A file can't be written.
    """
    if not version or version.startswith(".") or not version.replace(".", "").replace("-", "").isalnum():
        raise OptionError(f"'version' must be letters, digits, '.' and '-' (got {version!r})")
    target = Path(folder) / version
    if target.exists():
        raise OptionError(f"'version' must be new, since versions never change (got {target}, which exists)")
    if any("id" in each for each in (image_info or {}).values()):
        raise OptionError("'image_info' must not have a field 'id': the key of an image is its id")
    about = {"description": description, "version": version}
    files = _files(dataset, about, image_info or {})
    for part in ("public", "private"):
        (target / part).mkdir(parents=True)
    checksums = {}
    for name, content in files.items():
        data = json_bytes(content)
        _write(target / name, data)
        checksums[name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    manifest = {**about, "seed": dataset.seed, "splits": _summary(dataset), "files": checksums}
    _write(target / _MANIFEST, json_bytes(manifest))
    return target


def verify(folder: str | Path) -> int:
    """Checks that the files of a version are unchanged since it was frozen.

    Returns:
        The number of files.

    Raises:
        FormatError: The manifest is missing or damaged, or a file is missing, changed or not in the
            manifest.
    """
    folder = Path(folder)
    manifest = folder / _MANIFEST
    try:
        files = dict(read_json(manifest)["files"])
        sums = {name: str(entry["sha256"]) for name, entry in files.items()}
    except FileNotFoundError:
        raise FormatError(
            "a version must have a manifest (got none: it was never finished)",
            kind=FormatErrorKind.MISSING,
            path=manifest,
        ) from None
    except (ValueError, KeyError, TypeError):
        raise FormatError(
            "a manifest must name files and their sha256 (got something else)",
            kind=FormatErrorKind.NOT_A_MANIFEST,
            path=manifest,
        ) from None
    existing = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in sorted(existing - {_MANIFEST} - sums.keys()):
        raise FormatError(
            "the file must be in the manifest (got one that is not)", kind=FormatErrorKind.UNKNOWN, path=name
        )
    for name, expected in sums.items():
        if name not in existing:
            raise FormatError(
                "the file must exist (got no such file)", kind=FormatErrorKind.MISSING, path=folder / name
            )
        actual = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if actual != expected:
            raise FormatError(
                f"the file must have the sha256 {expected} (got {actual})",
                kind=FormatErrorKind.CHANGED,
                path=folder / name,
            )
    return len(sums)


def _files(
    dataset: Dataset, about: Mapping[str, str], image_info: Mapping[Any, Mapping[str, Any]]
) -> dict[str, object]:
    files: dict[str, object] = {}
    for name, split in dataset.splits.items():
        part = "private" if split.private else "public"
        info = {**about, "split": name}
        files[f"{part}/captions_{name}.json"] = coco_annotations(
            split.references, info=info, about_images=image_info
        )
        if split.private:
            images = [{"id": image, **image_info.get(image, {})} for image in split.references]
            files[f"public/image_info_{name}.json"] = {"info": info, "licenses": [], "images": images}
        if split.many is not None:
            files[f"{part}/captions_{name}_many.json"] = coco_annotations(
                split.many, info=info, about_images=image_info
            )
        if split.human is not None:
            files[f"private/human_{name}.json"] = coco_results(split.human)
    return files


def _summary(dataset: Dataset) -> dict[str, dict[str, object]]:
    return {
        name: {
            "private": split.private,
            "images": len(split.references),
            "captions": int(split.references.counts.sum()),
            "images_with_many": 0 if split.many is None else len(split.many),
            "captions_of_many": 0 if split.many is None else int(split.many.counts.sum()),
            "human_captions": 0 if split.human is None else len(split.human),
        }
        for name, split in dataset.splits.items()
    }


def _write(path: Path, data: bytes) -> None:
    with written_whole(path) as file:
        file.write(data)


def _require_apart(splits: Mapping[str, SplitPlan]) -> None:
    homes: dict[ImageId, str] = {}
    for name, plan in splits.items():
        for image in plan.images:
            if image in homes:
                raise MismatchError(
                    f"every image must be in one split, once (got image {image!r} in {homes[image]!r} "
                    f"and {name!r})"
                )
            homes[image] = name


def _check_plan(name: str, plan: SplitPlan) -> None:
    plain = name.replace("-", "").replace("_", "")
    if not plain.isalnum() or name.endswith("_many"):
        raise OptionError(
            f"a split's name must be letters, digits, '-' and '_', and not end in '_many' (got {name!r})"
        )
    for field, value in (("references", plan.references), ("many", plan.many)):
        if value is not None:
            checked_integer(field, value, 1, error=lambda message: OptionError(f"split {name!r}: {message}"))
    if not plan.images:
        raise OptionError(f"split {name!r} must have at least one image (got none)")
    if (plan.many is None) != (plan.many_images == 0) or not 0 <= plan.many_images <= len(plan.images):
        raise OptionError(
            f"split {name!r}: 'many' must come with 'many_images', from 1 to the split's "
            f"{len(plan.images):,} images (got {plan.many} and {plan.many_images})"
        )
    if plan.many is not None and plan.references is not None and plan.many < plan.references:
        raise OptionError(
            f"split {name!r}: 'many' must be at least the {plan.references} 'references' (got {plan.many})"
        )
