"""Copies of campaigns: the form of a new campaign, filled from the database."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User

from capeval_server.annotation.campaigns.creation import (
    CampaignOrigin,
    compute_version,
    make_from_files,
)
from capeval_server.annotation.campaigns.creation_drafts import NewCampaign, Uploads
from capeval_server.annotation.campaigns.item_files import ItemFiles
from capeval_server.annotation.campaigns.lifecycle import get_managed_campaign
from capeval_server.annotation.models import Campaign, Item
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.task_types.base import template_text
from capeval_server.annotation.task_types.quiz import QUIZ
from capeval_server.annotation.text_rules.rules import RULES
from capeval_server.annotation.workers.enrollment import latest_texts

__all__ = ["clone_campaign", "fill_copy", "get_origin", "write_items"]

_LONGEST_TITLE = 200


def write_items(campaign: Campaign) -> bytes:
    """Return the items of a campaign as JSON Lines, in their order.

    A campaign that is created from them has the same items. Repeated items, which workers create, are left
    out.
    """
    rows = campaign.items.filter(repeats=None).select_related("image").order_by("pk")
    lines = (json.dumps(_build_line(item), ensure_ascii=False) for item in rows.iterator(chunk_size=2000))
    return "".join(f"{line}\n" for line in lines).encode()


def _build_line(item: Item) -> dict[str, Any]:
    payload = {QUIZ.name: item.payload["caption"]} if item.is_quiz else item.payload
    optional = {
        "image": item.image.name if item.image else "",
        "group": item.group,
        "category": item.category,
        "expected": item.expected,
        "training": item.is_training,
        "explanation": item.explanation,
    }
    return {"key": item.key, **payload, **{part: value for part, value in optional.items() if value}}


def fill_copy(
    campaign: Campaign, *, with_items: bool = True, replaces: bool = False
) -> tuple[NewCampaign, Uploads]:
    """Return the values of the form of a new campaign that copies a campaign, and its files.

    Workers, answers, invite links and identities of panels are never copied.

    Args:
        campaign: The campaign.
        with_items: Also copy its items and images.
        replaces: Whether the copy replaces the campaign, which is a draft.
    """
    task, texts = task_named(campaign.kind), latest_texts(campaign)
    levels = {name: texts.rules.get(name, rule.level) for name, rule in RULES.items()}
    about = {
        "title": campaign.title if replaces else f"Copy of {campaign.title}"[:_LONGEST_TITLE],
        "slug": campaign.slug if replaces else "",
        "challenge": campaign.challenge.slug if campaign.challenge else "",
        "instructions": texts.instructions,
        "consent": texts.consent,
        # The questions of the quiz are among the items.
        "quiz": "",
    }
    rules = {f"rule-{name}": level for name, level in levels.items()} if task.written else {}
    draft = NewCampaign(
        text=next((text for text in task.texts if template_text(text) == texts.instructions), task.texts[0]),
        values={**campaign.settings, **about, **rules},
        about={**about, "kind": task.name},
        options=campaign.settings,
        rules={name: level for name, level in levels.items() if level != RULES[name].level},
        words={name: value for name, value in texts.rules.items() if name not in RULES},
        origin=campaign.slug if with_items else "",
        replaced=compute_version(campaign) if replaces else "",
        systems=campaign.systems if with_items else {},
        judged=about["challenge"],
    )
    items = Uploads(table_name="items.jsonl", table=write_items(campaign)) if with_items else Uploads()
    return draft, items


def get_origin(user: User, draft: NewCampaign) -> CampaignOrigin | None:
    """Return the campaign that a new campaign copies or replaces, if any.

    Raises:
        NotFoundError: The campaign no longer exists, or the user does not manage it.
    """
    if not draft.origin:
        return None
    return CampaignOrigin(campaign=get_managed_campaign(user, draft.origin), replaced=draft.replaced)


def clone_campaign(
    user: User | None, campaign: Campaign, slug: str, title: str = "", *, items: ItemFiles | None = None
) -> Campaign:
    """Create a draft with the texts, settings, items and images of a campaign.

    Args:
        user: The creator, who manages the copy; None for the command line.
        campaign: The campaign.
        slug: Name of the copy in URLs.
        title: Title of the copy; by default "Copy of ..." with the campaign's title.
        items: Items of the copy in place of those of the campaign. They can name its images.

    Raises:
        CampaignError: The name is invalid or taken, or an item or image is invalid.
        NotFoundError: The user does not organize the campaign's challenge.
    """
    draft, uploads = fill_copy(campaign, with_items=items is None)
    about = {**draft.about, "slug": slug, **({"title": title} if title else {})}
    images: dict[str, bytes] = {}
    if items is not None:
        uploads = Uploads(table_name=items.table_name or "", table=items.table or b"")
        if items.images is not None:
            images = {name: items.images.read(name) for name in items.images.names}
    files = replace(draft, about=about).build_files(task_named(campaign.kind), uploads)
    return make_from_files(user, {**images, **files}, CampaignOrigin(campaign=campaign))
