"""Frozen dataset versions: COCO JSON files with checksums."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capeval._internal.atomic_write import atomic_write
from capeval.datasets.building import Dataset
from capeval.errors import FormatError, FormatErrorKind, OptionError
from capeval.formats.caption_files import coco_annotations, coco_results
from capeval.formats.io.json import read_json, to_json_bytes, write_json

__all__ = ["ImageInfo", "freeze", "verify"]

ImageInfo = Mapping[int, Mapping[str, Any]] | Mapping[str, Mapping[str, Any]]
"""Additional fields of images, such as `file_name`, `width` and `height`, by image id."""

_MANIFEST = "manifest.json"


def freeze(
    dataset: Dataset,
    folder: str | Path,
    *,
    version: str,
    description: str = "",
    image_info: ImageInfo | None = None,
) -> Path:
    """Write a version of a dataset as COCO JSON, with a checksum of every file.

    The files in `folder/version` are:

    - `public/`: `captions_SPLIT.json` of public splits, and `image_info_SPLIT.json` of private splits;
    - `private/`: the captions of private splits, `captions_SPLIT_many.json`, and `human_SPLIT.json` (COCO
      results);
    - `manifest.json`, which is written last: a version without it is incomplete.

    Args:
        dataset: The dataset.
        folder: The folder of all versions.
        version: The version's name, such as `1.0`.
        description: The description in each file's `info`.
        image_info: Additional fields of images, such as `file_name`, `width` and `height`.

    Returns:
        The version's folder.

    Raises:
        OptionError: The version is not a plain name or exists already, or `image_info` has a field `id`.
        OSError: A file can't be written.

    Example:
        >>> from capeval.datasets.building import SplitPlan, build_dataset
        >>> from capeval.datasets.versions import freeze
        >>> captions = {1: ["A dog runs.", "The dog."], 2: ["Two cats sleep.", "Cats on a bed."]}
        >>> plans = {"test": SplitPlan(images=(1, 2), references=1, private=True, held_out=True)}
        >>> version = freeze(build_dataset(captions, plans), "dataset", version="1.0")
        >>> sorted(path.name for path in (version / "private").iterdir())
        ['captions_test.json', 'human_test.json']
        >>> sorted(path.name for path in (version / "public").iterdir())
        ['image_info_test.json']
    """
    if not version or version.startswith(".") or not version.replace(".", "").replace("-", "").isalnum():
        raise OptionError(f"'version' must consist of letters, digits, '.' and '-' (got {version!r})")
    target = Path(folder) / version
    if target.exists():
        raise OptionError(f"'version' must be new, because {target} exists and versions never change")
    if any("id" in each for each in (image_info or {}).values()):
        raise OptionError("'image_info' must not have a field 'id'; the image id is the key")
    about = {"description": description, "version": version}
    files = _build_files(dataset, about, image_info or {})
    for part in ("public", "private"):
        (target / part).mkdir(parents=True)
    checksums = {}
    for name, content in files.items():
        data = to_json_bytes(content)
        with atomic_write(target / name) as file:
            file.write(data)
        checksums[name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    manifest = {**about, "seed": dataset.seed, "splits": _summarize(dataset), "files": checksums}
    write_json(manifest, target / _MANIFEST)
    return target


def verify(folder: str | Path) -> int:
    """Verify that the files of a version are unchanged since it was frozen.

    Returns:
        The number of files.

    Raises:
        FormatError: The manifest is missing or damaged, or a file is missing, changed or not in the
            manifest.

    Example:
        >>> from capeval.datasets.building import SplitPlan, build_dataset
        >>> from capeval.datasets.versions import freeze, verify
        >>> dataset = build_dataset({1: ["A dog runs."]}, {"train": SplitPlan(images=(1,), references=1)})
        >>> version = freeze(dataset, "dataset", version="1.0")
        >>> verify(version)
        1
        >>> _ = (version / "public" / "captions_train.json").write_text("[]")
        >>> verify(version)
        Traceback (most recent call last):
        ...
        capeval.errors.FormatError: ...captions_train.json: the file changed: its sha256 must be ... (got ...)
    """
    folder = Path(folder)
    manifest = folder / _MANIFEST
    try:
        files = dict(read_json(manifest)["files"])
        sums = {name: str(entry["sha256"]) for name, entry in files.items()}
    except FileNotFoundError:
        raise FormatError(
            "a version must have a manifest (got none; it was deleted, or freezing was interrupted);"
            " restore it, or freeze a new version",
            kind=FormatErrorKind.MISSING,
            path=manifest,
        ) from None
    except (ValueError, KeyError, TypeError):
        raise FormatError(
            "the manifest must contain files and their sha256 (got different content)",
            kind=FormatErrorKind.NOT_A_MANIFEST,
            path=manifest,
        ) from None
    existing = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in sorted(existing - {_MANIFEST} - sums.keys()):
        raise FormatError(
            "the file is not in the manifest",
            kind=FormatErrorKind.UNKNOWN,
            path=folder / name,
        )
    for name, expected in sums.items():
        if name not in existing:
            raise FormatError(
                "the file is in the manifest but missing", kind=FormatErrorKind.MISSING, path=folder / name
            )
        actual = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if actual != expected:
            raise FormatError(
                f"the file changed: its sha256 must be {expected} (got {actual})",
                kind=FormatErrorKind.CHANGED,
                path=folder / name,
            )
    return len(sums)


def _build_files(
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


def _summarize(dataset: Dataset) -> dict[str, dict[str, object]]:
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
