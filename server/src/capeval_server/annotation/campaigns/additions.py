"""Items that are added to an existing campaign."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet

from capeval_server.annotation.campaigns.definition import parse_items
from capeval_server.annotation.campaigns.images import BuiltImages, build_images, insert_images
from capeval_server.annotation.campaigns.item_files import ItemFiles, list_rows
from capeval_server.annotation.campaigns.item_tables import Row
from capeval_server.annotation.campaigns.items import ItemSummary, add_items, summarize_items
from capeval_server.annotation.core.locks import held, lock_voted
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.core.slots import update_slots
from capeval_server.annotation.models import Campaign, Item
from capeval_server.annotation.task_types import task_named
from capeval_server.audit.models import record
from capeval_server.core.errors import CampaignError, ConflictError
from capeval_server.core.rollback import roll_back
from capeval_server.hosting.services.challenge_import import delete_files_on_error

__all__ = ["EXTENDABLE", "AdditionPreview", "extend_campaign", "preview_addition"]

_State = Campaign.State
EXTENDABLE = (_State.DRAFT, _State.PILOT, _State.OPEN, _State.PAUSED)
"""The states in which items can be added."""

# Number of items that are locked at once.
_ITEMS_AT_ONCE = 5000
_CHANGED = "the images of the campaign have changed at the same time: try again"


@dataclass(frozen=True, kw_only=True)
class AdditionPreview(ItemSummary):
    """Preview of items before they are added.

    Attributes:
        images: Number of new images.
        wanted: Number of answers that the new items need.
    """

    images: int
    wanted: int


def extend_campaign(user: User | None, campaign: Campaign, files: ItemFiles) -> AdditionPreview:
    """Add items to a campaign. Earlier items, answers and releases don't change.

    Images with the same content as images of the campaign are not stored again, and items can name images of
    the campaign without a file.

    Args:
        user: The manager; None for the command line.
        campaign: The campaign.
        files: The new items and images.

    Returns:
        The numbers of the added items.

    Raises:
        CampaignError: The campaign is closing or closed, or an item or image is invalid. The error contains
            all problems of the items and images, such as keys that the campaign has already.
        ConflictError: The images of the campaign have changed at the same time.
        OSError: A file can't be read or stored.
    """
    with _extend(user, campaign, files) as added:
        return added


def preview_addition(campaign: Campaign, files: ItemFiles) -> AdditionPreview:
    """Return a preview of `extend_campaign`, which is rolled back. It raises the same errors."""
    with roll_back(_extend(None, campaign, files)) as added:
        return added


@contextmanager
def _extend(user: User | None, campaign: Campaign, files: ItemFiles) -> Iterator[AdditionPreview]:
    """Add items; an error in the context rolls the addition back."""
    _check_state(campaign)
    rows = list_rows(task_named(campaign.kind), files, _list_names(campaign), _list_keys(campaign))
    with delete_files_on_error() as stored:
        # Before the campaign is locked, because workers wait for the lock.
        built = _build_images(campaign, files, rows, stored)
        with held(campaign) as now:
            _check_state(now)
            _insert_images(now, built, stored)
            added = _insert_items(now, files, rows, built)
            number = added.items + added.checks + added.training
            items = f"{number} item{'' if number == 1 else 's'}"
            record(user, now.challenge, f"added {items} to the campaign {now.slug}")
            yield added


def _check_state(campaign: Campaign) -> None:
    if campaign.state not in EXTENDABLE:
        raise CampaignError(
            f"items can be added while a campaign is {', '.join(EXTENDABLE[:-1])} or {EXTENDABLE[-1]}"
            f" (it is {campaign.state})"
        )


def _list_names(campaign: Campaign) -> set[str]:
    return set(campaign.images.values_list("name", flat=True))


def _list_keys(campaign: Campaign) -> set[str]:
    return set(campaign.items.filter(repeats=None).values_list("key", flat=True))


def _build_images(campaign: Campaign, files: ItemFiles, rows: list[Row], stored: list[str]) -> BuiltImages:
    """Store the files of new images; raise all problems of the items and images."""
    problems: list[str] = []
    items = parse_items(rows, task_named(campaign.kind), problems, _list_keys(campaign))
    named = dict.fromkeys(item.image for item in items if item.image)
    built = BuiltImages()
    if files.images is not None:
        read = files.images.select(named, _list_names(campaign))
        built = build_images(campaign, read, files.images.read, stored, {})
    files.raise_problems([*problems, *built.problems])
    return built


def _insert_images(campaign: Campaign, built: BuiltImages, stored: list[str]) -> None:
    """Insert the rows of images. The caller holds the campaign."""
    try:
        with transaction.atomic():
            insert_images(built.rows, stored)
    except IntegrityError:
        raise ConflictError(_CHANGED) from None
    if campaign.images.filter(pk__in=set(built.same.values())).count() < len(set(built.same.values())):
        raise ConflictError(_CHANGED)


def _insert_items(
    campaign: Campaign, files: ItemFiles, rows: list[Row], built: BuiltImages
) -> AdditionPreview:
    """Insert the rows of items and slots. The caller holds the campaign."""
    before = campaign.items.aggregate(last=Max("pk"))["last"] or 0
    problems: list[str] = []
    items = list(parse_items(rows, task_named(campaign.kind), problems, _list_keys(campaign)))
    files.raise_problems(problems)
    answers = get_options(campaign).answers
    add_items(campaign, items, answers, built.same)
    new = campaign.items.filter(pk__gt=before)
    _end_decided(campaign, new.filter(is_check=False))
    found = summarize_items(new)
    return AdditionPreview(**vars(found), images=len(built.rows), wanted=found.items * answers)


def _end_decided(campaign: Campaign, new: QuerySet[Item]) -> None:
    """End new items of pairs with an already likely winner."""
    if not get_options(campaign).confidence:
        return
    keys = list(new.exclude(group="").order_by("group", "pk").values_list("pk", flat=True))
    for start in range(0, len(keys), _ITEMS_AT_ONCE):
        some = keys[start : start + _ITEMS_AT_ONCE]
        lock_voted(some, campaign)
        update_slots(some, campaign, voted=True)
