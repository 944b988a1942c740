"""Files of a new challenge from a release."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import tomli_w

import capeval
from capeval.data.captions import ImageId
from capeval.datasets.building import name_references
from capeval.datasets.challenge_file import DECLARED, PAGES_FOLDER, define_phases, name_larger_set
from capeval.datasets.challenge_pages import PAGES, define_pages
from capeval.formats.images import load_file_names
from capeval.formats.io.json import read_json, write_json
from capeval_server.annotation.models import Release
from capeval_server.annotation.releases.release_files import check_captions, find_file, folder_of, verify
from capeval_server.core.errors import CampaignError

__all__ = ["write_challenge"]

_DAYS = 365


def write_challenge(
    release: Release, folder: Path, subsets: Mapping[str, Collection[ImageId]] | None = None
) -> Path:
    """Write the files of a new challenge with all splits of a release but those for training, for import.

    Args:
        release: The release.
        folder: The folder, which is created if missing.
        subsets: The images of each subset, such as a domain; each split has those with some of its images.
            By default, the images of each class of the campaign's items, if a split has several.

    Returns:
        The path of `challenge.toml`.

    Raises:
        CampaignError: The release has judgments instead of captions, all splits are for training, no image of
            the subsets is in a split, or the folder already has a challenge.
        OSError: A file can't be written.
    """
    check_captions(release)
    path = folder / "challenge.toml"
    # The files are meant to be edited.
    if path.exists():
        raise CampaignError(f"{path} already exists; choose a new folder")
    verify(release)
    names = _list_scored(release)
    folder.mkdir(parents=True, exist_ok=True)
    opens = release.time.replace(microsecond=0)
    about = {
        "slug": release.campaign.slug,
        "title": release.campaign.title,
        "fields": [{"name": name, "required": True} for name in DECLARED],
    }
    splits = [_define_split(release, name, folder, subsets) for name in names]
    public = {split["name"]: split["references"][0]["public"] for split in splits}
    definition: dict[str, Any] = {
        "challenge": {**about, **_copy_pages(release, folder)},
        "splits": splits,
        "phases": define_phases(public, opens, opens + timedelta(days=_DAYS)),
    }
    if subsets and not any("subsets" in split for split in splits):
        raise CampaignError("subsets must contain images of the release (got none)")
    path.write_text(tomli_w.dumps(definition), encoding="utf-8")
    return path


def _list_scored(release: Release) -> list[str]:
    """Return the names of the splits that are not for training."""
    splits = read_json(folder_of(release) / "manifest.json")["splits"]
    names = [name for name, split in sorted(splits.items()) if not split.get("training")]
    if not names:
        raise CampaignError(f"release {release.name} must have a split to score (got only training splits)")
    return names


def _copy_pages(release: Release, folder: Path) -> dict[str, Any]:
    """Copy the pages, and return the part of the definition that names them."""
    source = folder_of(release) / PAGES_FOLDER
    # The pages can be edited, and also deleted.
    names = [name for name in PAGES if (source / name).exists()]
    for name in names:
        (folder / name).write_bytes((source / name).read_bytes())
    return define_pages(names=names)


def _define_split(
    release: Release, name: str, folder: Path, subsets: Mapping[str, Collection[ImageId]] | None
) -> dict[str, Any]:
    def copied(path: Path) -> str:
        (folder / path.name).write_bytes(path.read_bytes())
        return path.name

    source = find_file(release, name)
    few = capeval.load_references(source)
    references: dict[str, Any] = {
        "name": name_references(few),
        "file": copied(source),
        "public": source.parent.name == "public",
    }
    if (source.parent / f"human_{name}.json").exists():
        references["human"] = copied(find_file(release, name, human=True))
    found = [references]
    if (source.parent / f"captions_{name}_many.json").exists():
        path = find_file(release, name, many=True)
        many = capeval.load_references(path)
        about = {"name": name_larger_set(few, many), "file": copied(path), "partial": len(many) < len(few)}
        found.append({**references, **about})
    images = folder_of(release) / "public" / f"image_info_{name}.json"
    optional = {"images": copied(images)} if load_file_names(images) else {}
    chosen = _list_classes(images) if subsets is None else subsets
    if within := _select_images(chosen, set(few)):
        optional["subsets"] = f"subsets_{name}.json"
        write_json(within, folder / optional["subsets"])
    return {
        "name": name,
        "results": f"captions_{name}_<alg>_results.json",
        **optional,
        "references": found,
        "sort_by": "CIDEr-D",
    }


def _list_classes(path: Path) -> dict[str, list[ImageId]]:
    """Return the images of each class in a file of a release; empty if all have the same class."""
    found: dict[str, list[ImageId]] = {}
    for image in read_json(path)["images"]:
        if image.get("category"):
            found.setdefault(image["category"], []).append(image["id"])
    return found if len(found) > 1 else {}


def _select_images(
    subsets: Mapping[str, Collection[ImageId]], images: Collection[ImageId]
) -> dict[str, list[ImageId]]:
    """Return the images of each subset that are among others, without empty subsets.

    The ids of a release are integers if all of its keys are numbers, so ids are compared as text.
    """
    ids = {str(image): image for image in images}
    found = {
        name: [ids[str(image)] for image in members if str(image) in ids] for name, members in subsets.items()
    }
    return {name: members for name, members in found.items() if members}
