"""Metadata of a caption release: the fields of its images, and the texts of its data card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from capeval.datasets.challenge_pages import TO_FILL_IN
from capeval.datasets.data_card import SECTIONS
from capeval.datasets.versions import DatasetTexts
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Campaign, Response, Review
from capeval_server.annotation.workers import panels, payments

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
                "author": item.image.author,
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
            "Workers": f"The captions were written by {people}, who read the instructions of the campaign."
            + _describe_conditions(campaign),
            **_describe_license_of_captions(campaign),
            **_describe_pay(campaign),
            **_describe_categories(rows),
            "Known faults": _describe_reviews(campaign, rows),
        },
    )


def _describe_conditions(campaign: Campaign) -> str:
    """Return a sentence about the conditions that the panel enforced, if there are any."""
    settings = panels.find_settings(campaign)
    if settings is None or not (conditions := panels.describe_conditions(settings)):
        return ""
    return f" The panel {settings.name} was asked for workers with {conditions}."


def _describe_license_of_captions(campaign: Campaign) -> dict[str, str]:
    """Return the license that the writers agreed to, if the campaign has it."""
    found = get_options(campaign).license
    return {"License": f"License of the captions: {found.rstrip('.')}."} if found else {}


def _describe_pay(campaign: Campaign) -> dict[str, str]:
    """Return the pay per caption and hour, or in words, if the campaign has it."""
    options = get_options(campaign)
    terms = f"Workers read about their pay: {options.pay_terms.rstrip('.')}." if options.pay_terms else ""
    if not options.pay_per_answer:
        return {"Pay": terms} if terms else {}
    rate = f"{options.pay_per_answer} {options.currency}"
    text = f"{terms} The pay was {rate} per answer when this version was frozen.".lstrip()
    paid = [row for row in payments.lines(campaign) if row.seconds]
    if seconds := sum(row.seconds for row in paid):
        wage = Decimal(options.pay_per_answer) * sum(row.answers for row in paid) * 3600 / seconds
        text += (
            f" With the measured times, this was {wage:.2f} {options.currency} per hour of work on average."
        )
    return {"Pay": text}


def _describe_categories(rows: Sequence[Response]) -> dict[str, str]:
    """Return a table of the categories of images, if there are any."""
    items = {row.item.key: row.item.category for row in rows}
    counts = Counter(category for category in items.values() if category)
    if not counts:
        return {}
    escaped = {name.replace("|", r"\|"): images for name, images in sorted(counts.items())}
    lines = [f"| {name} | {images:,} |" for name, images in escaped.items()]
    return {"Domains": "\n".join(["| Category | Images |", "| --- | --- |", *lines])}


def _describe_reviews(campaign: Campaign, rows: Sequence[Response]) -> str:
    """Return the number of reviewed captions, and a marked place."""
    reviewed = set(
        Review.objects.filter(response__item__campaign=campaign).values_list("response_id", flat=True)
    )
    read = sum(row.pk in reviewed for row in rows)
    return (
        f"Reviewers read {read:,} of the {len(rows):,} captions. The others passed only automatic rules."
        f"\n\n{TO_FILL_IN}: {SECTIONS['Known faults']}"
    )
