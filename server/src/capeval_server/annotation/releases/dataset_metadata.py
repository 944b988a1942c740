"""Metadata of a caption release: the fields of its images, and the texts of its data card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capeval.datasets.versions import DatasetTexts
from capeval_server.annotation.models import Campaign, Response

__all__ = ["describe_dataset", "describe_images"]


def describe_images(
    rows: Sequence[Response], ids: Mapping[str, int | str]
) -> tuple[dict[Any, dict[str, Any]], list[dict[str, Any]]]:
    """Return the fields of each image with answers, and the licenses to which they refer.

    Args:
        rows: The counted answers, with their items and images.
        ids: The image id of each item key.
    """
    items = {row.item.key: row.item for row in rows}
    names = dict.fromkeys(item.image.license for item in items.values() if item.image and item.image.license)
    numbers = {name: number for number, name in enumerate(names, start=1)}
    found: dict[Any, dict[str, Any]] = {}
    for key, item in items.items():
        fields: dict[str, Any] = {"category": item.category, "keywords": item.payload.get("keywords")}
        if item.image is not None:
            fields |= {
                "file_name": item.image.name,
                "width": item.image.width,
                "height": item.image.height,
                "license": numbers.get(item.image.license),
                "coco_url": item.image.source,
                "sha256": item.image.digest,
            }
        known = {name: value for name, value in fields.items() if value not in ("", None, [])}
        if known:
            found[ids[key]] = known
    return found, [_describe_license(number, name) for name, number in numbers.items()]


def _describe_license(number: int, name: str) -> dict[str, Any]:
    # Open Images names a license by the address of its text.
    return {"id": number, "name": name, **({"url": name} if name.startswith("https://") else {})}


def describe_dataset(campaign: Campaign, rows: Sequence[Response]) -> DatasetTexts:
    """Return the title and the known sections of the data card.

    Args:
        campaign: The campaign.
        rows: The counted answers, with their texts and participations.
    """
    versions = {row.texts.number: row.texts.instructions for row in rows}
    workers = len({row.participation.worker_id for row in rows})
    instructions = [
        f"Version {number}:\n\n{text.strip()}" if len(versions) > 1 else text.strip()
        for number, text in sorted(versions.items())
        if text.strip()
    ]
    # A heading in the instructions must not look like a section of the card.
    quoted = "\n\n".join(instructions).replace("\n", "\n> ")
    people = "1 worker" if workers == 1 else f"{workers:,} workers"
    return DatasetTexts(
        title=campaign.title,
        sections={
            **({"Instructions": f"> {quoted}"} if quoted else {}),
            "Workers": f"The captions were written by {people}, who read the instructions above.",
        },
    )
