"""Data of a challenge for participants: public references, and the format of submissions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django.conf import settings

import capeval
from capeval.formats.caption_files import coco_annotations
from capeval.formats.images import image_info
from capeval.formats.io.json import to_json_bytes
from capeval_server.challenges.models import Challenge, ImageArchive, ReferenceSet, Split
from capeval_server.challenges.services.image_lists import get_images
from capeval_server.core.errors import NotFoundError

__all__ = [
    "build_annotations",
    "compute_annotations_key",
    "describe_submissions",
    "get_image_archive",
    "get_public_references",
    "get_public_subsets",
    "list_public_references",
    "list_public_subsets",
    "name_annotations",
    "name_image_archive",
    "name_subsets",
]


def list_public_references(split: Split) -> list[ReferenceSet]:
    """Return the public reference sets of a split, in order."""
    return [entry for entry in sorted(split.reference_sets.all(), key=lambda found: found.pk) if entry.public]


def get_public_references(slug: str, split: str, name: str) -> ReferenceSet:
    """Return a public reference set.

    Raises:
        NotFoundError: There is no such set, or it is private.
    """
    found = ReferenceSet.objects.filter(
        split__challenge__slug=slug, split__name=split, name=name, public=True, version__gte=1
    )
    entry = found.select_related("split__challenge").first()
    if entry is None:
        raise NotFoundError
    return entry


def list_public_subsets(split: Split) -> dict[str, list[int | str]]:
    """Return the images of each subset of a split; none if a reference set is private."""
    return split.get_subset_images() if split.has_public_subsets else {}


def get_public_subsets(slug: str, split: str) -> tuple[Split, dict[str, list[int | str]]]:
    """Return a split and the images of each subset.

    Raises:
        NotFoundError: There is no such split, it has no subsets, or a reference set is private.
    """
    found = Split.objects.filter(challenge__slug=slug, name=split).first()
    subsets = list_public_subsets(found) if found is not None else {}
    if found is None or not subsets:
        raise NotFoundError
    return found, subsets


def get_image_archive(slug: str, split: str) -> ImageArchive:
    """Return the zip of a split's image files.

    Raises:
        NotFoundError: There is no such split, or it has no zip.
    """
    found = ImageArchive.objects.filter(split__challenge__slug=slug, split__name=split)
    archive = found.select_related("split").first()
    if archive is None:
        raise NotFoundError
    return archive


def name_image_archive(split: Split) -> str:
    """Return the file name of the zip of a split's image files."""
    return f"images_{split.name}.zip"


def name_subsets(split: Split) -> str:
    """Return the file name of a split's subsets."""
    return f"subsets_{split.name}.json"


def name_annotations(entry: ReferenceSet) -> str:
    """Return the file name of a reference set's annotations."""
    return f"captions_{entry.split.name}_{entry.name}.json"


def compute_annotations_key(entries: Iterable[ReferenceSet]) -> str:
    """Return a cache key that depends on all content of the annotations of public reference sets."""
    parts = []
    for entry in entries:
        version = entry.versions.filter(number=entry.version).values_list("sha256", flat=True).first()
        images = getattr(entry.split, "image_list", None)
        listed = images.sha256 if images else ""
        parts.append((entry.pk, entry.public, entry.name, version, listed, entry.split.image_url))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def build_annotations(entry: ReferenceSet) -> bytes:
    """Return the captions of a public reference set as COCO annotations.

    Known file names, URLs, sizes and licenses of the images are included.

    Raises:
        NotFoundError: The set is private.
        OSError: The stored file can't be read.
    """
    if not entry.public:
        raise NotFoundError
    version = entry.versions.get(number=entry.version)
    with version.file.open("rb") as file:
        references = capeval.load_references(file.read(), name=str(version.file.name))
    listed = image_info(get_images(entry.split))
    about = {row["id"]: {key: row[key] for key in row if key != "id"} for row in listed["images"]}
    info = {
        "description": entry.split.challenge.title,
        "split": entry.split.name,
        "references": entry.name,
        "version": str(version.number),
    }
    return to_json_bytes(
        coco_annotations(references, info=info, about_images=about, licenses=listed["licenses"])
    )


def describe_submissions(challenge: Challenge) -> dict[str, Any]:
    """Return the format of a challenge's submissions, to check results without the server."""
    phases = challenge.phases.prefetch_related("splits").order_by("opens", "pk")
    return {
        "slug": challenge.slug,
        "title": challenge.title,
        "fields": [asdict(field) for field in challenge.declared_fields],
        "caption_characters": settings.CAPTION_CHARACTERS,
        "upload_bytes": settings.UPLOAD_BYTES,
        "unpacked_bytes": settings.UNPACKED_BYTES,
        "phases": [
            {"name": phase.name, "splits": sorted(split.name for split in phase.splits.all())}
            for phase in phases
        ],
        "splits": [_describe_split(split) for split in challenge.splits.order_by("name")],
    }


def _describe_split(split: Split) -> dict[str, Any]:
    images = get_images(split)
    named = any(image.file_name for image in images)
    return {
        "name": split.name,
        "results": split.results,
        "image_ids": [image.id for image in images],
        "file_names": [image.file_name for image in images] if named else [],
    }
