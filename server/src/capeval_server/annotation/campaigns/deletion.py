"""Deletion of campaigns that no worker has entered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q, QuerySet

from capeval_server.annotation.core.locks import held
from capeval_server.annotation.models import (
    Assignment,
    Campaign,
    Image,
    Item,
    Participation,
    Session,
    Slot,
    Worker,
)
from capeval_server.audit.models import record
from capeval_server.core.errors import CampaignError
from capeval_server.notifications.webhooks import list_webhooks

__all__ = [
    "DeletedParts",
    "check_unused",
    "count_deleted",
    "delete_draft",
    "delete_images",
    "delete_items",
    "find_obstacle",
]

# Number of rows in a query: SQLite limits the number of parameters.
_ROWS_AT_ONCE = 400


@dataclass(frozen=True, kw_only=True)
class DeletedParts:
    """Content of a draft that its deletion removes.

    Attributes:
        items: Number of items, with attention checks and training items.
        images: Number of images.
        links: Number of invite links, which no longer work for this campaign.
    """

    items: int
    images: int
    links: int


def count_deleted(campaign: Campaign) -> DeletedParts:
    """Return the content of a draft that its deletion removes."""
    return DeletedParts(
        items=campaign.items.count(),
        images=campaign.images.count(),
        links=campaign.participations.filter(worker__digest__isnull=False).count(),
    )


def find_obstacle(campaign: Campaign) -> str:
    """Return the reason why a campaign can't be deleted or replaced, or ""."""
    if campaign.state != Campaign.State.DRAFT:
        return f"it is not a draft (it is {campaign.state})"
    entered = Q(consented_to__isnull=False) | ~Q(stage=Participation.Stage.INVITED)
    if (
        campaign.participations.filter(entered).exists()
        or campaign.departures.exists()
        or Session.objects.filter(participation__campaign=campaign).exists()
        or Assignment.objects.filter(item__campaign=campaign).exists()
    ):
        return "workers have entered it, in a preview for example, and what they did is kept"
    return "it has releases" if campaign.releases.exists() else ""


def check_unused(campaign: Campaign, action: str) -> None:
    """Check that a campaign is a draft that no worker has entered. The caller holds the campaign.

    Args:
        campaign: The campaign.
        action: The rejected action in the error, such as "deleted".

    Raises:
        CampaignError: The campaign is not a draft, or somebody has entered it.
    """
    if obstacle := find_obstacle(campaign):
        raise CampaignError(f"the campaign {campaign.slug} can't be {action}: {obstacle}")


def delete_draft(user: User | None, campaign: Campaign) -> None:
    """Delete a draft that no worker has entered, with its items, images and invite links.

    Files of images are deleted after the commit, unless another campaign has the same images.

    Args:
        user: The manager; None for the command line.
        campaign: The campaign.

    Raises:
        CampaignError: The campaign is not a draft, or somebody has entered it.
    """
    with held(campaign) as now:
        check_unused(now, "deleted")
        delete_items(now)
        delete_images(now.images.all())
        invited = list(now.participations.values_list("worker", flat=True))
        now.participations.all().delete()
        # Workers of invite links that are for no other campaign.
        rows = Worker.objects.filter(pk__in=invited, user=None, account=None, participations=None)
        rows.filter(identities=None).delete()
        record(user, now.challenge, f"deleted the draft of a campaign, {now.slug}")
        list_webhooks(now.challenge, now.slug).delete()
        now.delete()


def delete_items(campaign: Campaign) -> None:
    """Delete the items and the slots of a campaign without assignments. The caller holds the campaign."""
    # Without loading half a million rows, and without a query for each of them.
    _delete_all(Slot.objects.filter(item__campaign=campaign))
    _delete_all(campaign.items.all())


def _delete_all(rows: QuerySet[Slot] | QuerySet[Item]) -> None:
    rows._raw_delete(rows.db)


def delete_images(images: QuerySet[Image]) -> None:
    """Delete images of a campaign without items, and their files after the commit."""
    rows = list(images.order_by("pk"))
    images.delete()
    # A file that can't be deleted is only logged: the images are already deleted.
    transaction.on_commit(partial(_delete_files, rows), robust=True)


def _delete_files(rows: Sequence[Image]) -> None:
    """Delete the files of deleted images that no other campaign has. New images lock the rows of others."""
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[start : start + _ROWS_AT_ONCE]
        others = Image.objects.filter(digest__in=[row.digest for row in some])
        used = set(others.values_list("small", flat=True))
        for row in some:
            if row.small not in used:
                default_storage.delete(row.small)
                default_storage.delete(row.large)
