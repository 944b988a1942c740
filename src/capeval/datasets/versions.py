"""Frozen dataset versions: COCO JSON files with checksums."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from capeval._internal.atomic_write import atomic_write
from capeval.data.captions import Candidates, ImageId, References
from capeval.datasets.building import BuiltSplit, Dataset
from capeval.datasets.challenge_file import PAGES_FOLDER, format_challenge
from capeval.datasets.challenge_pages import PAGES, format_pages
from capeval.datasets.data_card import format_card, format_licenses, list_rows
from capeval.errors import FormatError, FormatErrorKind, OptionError
from capeval.formats.caption_files import coco_annotations, coco_results
from capeval.formats.io.json import read_json, to_json_bytes, write_json

__all__ = ["DatasetTexts", "ImageInfo", "freeze", "verify"]

ImageInfo = Mapping[int, Mapping[str, Any]] | Mapping[str, Mapping[str, Any]]
"""Additional fields of images, such as `file_name`, `width` and `height`, by image id."""

_MANIFEST = "manifest.json"
_CARD, _CHALLENGE = "public/README.md", "challenge.toml"
# These files have places that the authors of the dataset fill in, so they have no checksum.
_EDITABLE = frozenset({_CARD, _CHALLENGE, *(f"{PAGES_FOLDER}{name}" for name in PAGES)})


@dataclass(frozen=True, kw_only=True)
class DatasetTexts:
    """Texts about a dataset, for its files.

    Attributes:
        title: The title of the dataset; its challenge is named after it.
        description: A description; the data card and the challenge have a marked place if it is empty.
        sections: The texts of sections of the data card, by the names of `capeval.datasets.data_card`.
    """

    title: str = "Captions"
    description: str = ""
    sections: Mapping[str, str] = field(default_factory=dict)


def freeze(
    dataset: Dataset,
    folder: str | Path,
    *,
    version: str,
    texts: DatasetTexts = DatasetTexts(),
    image_info: ImageInfo | None = None,
    licenses: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Write a version of a dataset as COCO JSON, with a checksum of every file.

    The files in `folder/version` are:

    - `public/`: `captions_SPLIT.json` of public splits, `image_info_SPLIT.json`, and the same as
      `data/SPLIT.jsonl` and the data card `README.md` for the library `datasets`;
    - `private/`: the captions of private splits, and `human_SPLIT.json` (COCO results);
    - `captions_SPLIT_many.json` and `human_SPLIT_many.json`, for the images with many references;
    - `challenge.toml` with its texts in `pages/`, unless all splits are for training;
    - `manifest.json`, which is written last: a version without it is incomplete.

    An annotation has the same id in every file. The data card, `challenge.toml` and its pages can be edited,
    and therefore have no checksum.

    Args:
        dataset: The dataset.
        folder: The folder of all versions.
        version: The version's name, such as `1.0`.
        texts: The title, the description and other texts.
        image_info: Additional fields of images, such as `file_name`, `width` and `height`.
        licenses: The licenses of images, to which their field `license` refers.

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
        ['README.md', 'data', 'image_info_test.json']
    """
    if not version or version.startswith(".") or not version.replace(".", "").replace("-", "").isalnum():
        raise OptionError(f"'version' must consist of letters, digits, '.' and '-' (got {version!r})")
    target = Path(folder) / version
    if target.exists():
        raise OptionError(f"'version' must be new, because {target} exists and versions never change")
    if any("id" in each for each in (image_info or {}).values()):
        raise OptionError("'image_info' must not have a field 'id'; the image id is the key")
    about = {"description": texts.description, "version": version}
    info = image_info or {}
    written = _format_editable(dataset, version, texts, info, licenses)
    files = {
        **{name: to_json_bytes(content) for name, content in _build_files(dataset, about, info, licenses)},
        **{
            f"public/data/{name}.jsonl": _format_rows(list_rows(split, info))
            for name, split in dataset.splits.items()
        },
    }
    checksums = {}
    for name, data in {**files, **written}.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target / name) as file:
            file.write(data)
        if name not in _EDITABLE:
            checksums[name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    manifest = {**about, "seed": dataset.seed, "splits": _summarize(dataset), "files": checksums}
    write_json(manifest, target / _MANIFEST)
    return target


def _format_editable(
    dataset: Dataset,
    version: str,
    texts: DatasetTexts,
    image_info: Mapping[Any, Mapping[str, Any]],
    licenses: Sequence[Mapping[str, Any]],
) -> dict[str, bytes]:
    """Return the files with places to fill in."""
    card = format_card(
        dataset,
        title=texts.title,
        version=version,
        description=texts.description,
        image_info=image_info,
        licenses=licenses,
        sections=texts.sections,
    )
    written = {_CARD: card}
    if not all(split.training for split in dataset.splits.values()):
        written[_CHALLENGE] = format_challenge(dataset, title=texts.title, with_images=bool(image_info))
        pages = format_pages(
            dataset,
            description=texts.description,
            sections=texts.sections,
            licenses=format_licenses(licenses, image_info) if licenses else (),
            with_images=bool(image_info),
        )
        written |= {f"{PAGES_FOLDER}{name}": page for name, page in pages.items()}
    return {name: text.encode() for name, text in written.items()}


def _format_rows(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(
        "utf-8", "surrogatepass"
    )


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
        3
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
    for name in sorted(existing - {_MANIFEST} - _EDITABLE - sums.keys()):
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
    dataset: Dataset,
    about: Mapping[str, str],
    image_info: Mapping[Any, Mapping[str, Any]],
    licenses: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, object]]:
    """Yield the name and the content of each JSON file."""
    start = 1
    for name, split in dataset.splits.items():
        part, info = "private" if split.private else "public", {**about, "split": name}
        few, many, start = _number_annotations(split, start)

        def annotations(
            references: References, numbers: Mapping[ImageId, Sequence[int]], info: dict[str, str] = info
        ) -> dict[str, object]:
            return coco_annotations(
                references, info=info, about_images=image_info, licenses=licenses, numbers=numbers
            )

        yield f"{part}/captions_{name}.json", annotations(split.references, few)
        images = [{"id": image, **image_info.get(image, {})} for image in split.references]
        yield f"public/image_info_{name}.json", {"info": info, "licenses": list(licenses), "images": images}
        if split.many is not None:
            yield f"{part}/captions_{name}_many.json", annotations(split.many, many)
        if split.human is not None:
            yield f"private/human_{name}.json", coco_results(split.human)
            if split.many is not None:
                human = Candidates({image: split.human[image] for image in split.many})
                yield f"private/human_{name}_many.json", coco_results(human)


def _number_annotations(
    split: BuiltSplit, start: int
) -> tuple[dict[ImageId, list[int]], dict[ImageId, list[int]], int]:
    """Return the ids of annotations: equal in both sets of references of a split, and the next free id.

    Of each image, the smaller set is part of the larger one, in the same order.
    """
    few: dict[ImageId, list[int]] = {}
    many: dict[ImageId, list[int]] = {}
    for image, references in split.references.items():
        more = split.many[image] if split.many is not None and image in split.many else []
        larger, smaller = (more, references) if len(more) > len(references) else (references, more)
        numbers = list(range(start, start + len(larger)))
        place, part = 0, []
        for caption in smaller:
            place = larger.index(caption, place)
            part.append(numbers[place])
            place += 1
        few[image], many[image] = (part, numbers) if larger is more else (numbers, part)
        start += len(larger)
    return few, many, start


def _summarize(dataset: Dataset) -> dict[str, dict[str, object]]:
    return {
        name: {
            "private": split.private,
            "training": split.training,
            "images": len(split.references),
            "captions": int(split.references.counts.sum()),
            "images_with_many": 0 if split.many is None else len(split.many),
            "captions_of_many": 0 if split.many is None else int(split.many.counts.sum()),
            "human_captions": 0 if split.human is None else len(split.human),
        }
        for name, split in dataset.splits.items()
    }
