"""Items of a campaign in the database, with their slots and their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from django.db import connection
from django.db.models import Max, QuerySet

from capeval.toolkit.random import make_python_random
from capeval_server.annotation.campaigns.definition import ItemDefinition
from capeval_server.annotation.core.digests import draw_number
from capeval_server.annotation.models import Campaign, Item
from capeval_server.annotation.workers.training import MOST_PRACTICED, graded_items
from capeval_server.core.errors import CampaignError

__all__ = ["ItemSummary", "add_items", "summarize_items"]

# Number of items per INSERT statement.
_AT_ONCE = 2000


@dataclass(frozen=True, kw_only=True)
class ItemSummary:
    """Numbers of new items, and the first one.

    Attributes:
        items: Number of items, without checks.
        checks: Number of checks.
        training: Number of training items.
        classes: Number of items of each class, without checks; empty if no item has a class.
        first: The first item that is no check, with its image.
    """

    items: int
    checks: int
    training: int
    classes: dict[str, int]
    first: Item | None


def summarize_items(items: QuerySet[Item]) -> ItemSummary:
    """Return the numbers of some items of a campaign."""
    classes = Counter(items.filter(is_check=False).values_list("category", flat=True))
    return ItemSummary(
        items=classes.total(),
        checks=items.filter(is_check=True, is_training=False).count(),
        training=items.filter(is_training=True).count(),
        classes=dict(sorted(classes.items())) if any(classes) else {},
        first=items.filter(is_check=False).select_related("image").order_by("pk").first(),
    )


def add_items(
    campaign: Campaign,
    items: Iterable[ItemDefinition],
    answers: int,
    images: Mapping[str, int] | None = None,
) -> int:
    """Add items with their slots, and return the number of items.

    Ranks and sides continue those of the campaign's earlier items, as if all had been added at once.

    Args:
        campaign: The campaign. If it has items, the caller holds it.
        items: The items.
        answers: Number of slots of each item.
        images: Images of the campaign by other names than their own.

    Raises:
        CampaignError: An item's image is missing, or the training has too few or too many items.
    """
    rng = make_python_random(campaign.settings["seed"])
    earlier = campaign.items.filter(repeats=None).order_by("pk").values_list("group", "mirrors_odd")
    groups: dict[str, int] = {}
    for group, mirrors_odd in earlier.iterator():
        rng.getrandbits(31)
        groups[group] = int(mirrors_odd)
    last = campaign.items.aggregate(last=Max("pk"))["last"] or 0
    known = {**dict(campaign.images.values_list("name", "pk")), **(images or {})}
    number = 0
    found = iter(items)
    while rows := [_build_item(campaign, item, known, groups, answers) for item in islice(found, _AT_ONCE)]:
        for row in rows:
            row.rank = rng.getrandbits(31)
        Item.objects.bulk_create(rows)
        number += len(rows)
    _check_training(campaign)
    _add_slots(campaign, answers, after=last)
    return number


def _check_training(campaign: Campaign) -> None:
    wanted, found = campaign.settings["training_items"], graded_items(campaign).count()
    if 0 < found < wanted:
        raise CampaignError(f"the training must have at least {wanted} items per attempt (got {found})")
    practiced = campaign.items.filter(is_training=True).count() - found
    if practiced > MOST_PRACTICED:
        raise CampaignError(
            f"the training must have at most {MOST_PRACTICED} practice items (got {practiced})"
        )


def _add_slots(campaign: Campaign, answers: int, *, after: int) -> None:
    """Add the slots of the items after an item, by its primary key."""
    # The database itself creates up to half a million rows in seconds.
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE numbers(number) AS"
            " (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < %s)"
            " INSERT INTO annotation_slot (item_id, number, trusted_only, closed)"
            " SELECT item.id, numbers.number, FALSE, FALSE FROM annotation_item item CROSS JOIN numbers"
            " WHERE item.campaign_id = %s AND item.id > %s AND NOT item.is_check"
            " ORDER BY item.id, numbers.number",
            [answers, campaign.pk, after],
        )


def _build_item(
    campaign: Campaign, item: ItemDefinition, images: dict[str, int], groups: dict[str, int], answers: int
) -> Item:
    if item.image and item.image not in images:
        raise CampaignError(f"{item.key}: the campaign has no image {item.image!r}")
    compared = {"first_by", "second_by"} <= item.payload.keys()
    if campaign.settings["next_pairs"] and not item.expected and not compared:
        raise CampaignError(f"{item.key}: 'first_by' and 'second_by' are required with 'next_pairs'")
    # The first side of a group is random: otherwise, in groups of one item, workers who get the same slot of
    # each item would see the same side.
    first = draw_number(campaign.settings["seed"], item.group or item.key, "side") % 2
    place = groups[item.group] = groups.get(item.group, first - 1) + 1
    return Item(
        campaign=campaign,
        key=item.key,
        group=item.group,
        category=item.category,
        image_id=images.get(item.image),
        payload=item.payload,
        is_check=bool(item.expected),
        is_training=item.training,
        is_quiz=item.is_quiz,
        explanation=item.explanation,
        expected=item.expected,
        rank=0,
        mirrors_odd=place % 2 == 1,
        free=0 if item.expected else answers,
    )
