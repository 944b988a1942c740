"""Content warnings: hide images until workers ask for them, or never assign them."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, QuerySet

from capeval_server.annotation.core.departures import check_not_withdrawn
from capeval_server.annotation.core.locks import lock_participation
from capeval_server.annotation.models import Assignment, Campaign, Image, Participation
from capeval_server.annotation.responses.assignment import set_aside
from capeval_server.annotation.task_types.base import is_storable
from capeval_server.audit.models import record
from capeval_server.core.errors import CampaignError, NotFoundError
from capeval_server.jobs.leases import database_time

__all__ = [
    "LONGEST_WARNING",
    "ContentWarningCounts",
    "avoid_warnings",
    "count_warned_images",
    "set_warning",
    "show_image",
]

LONGEST_WARNING = 200
_State = Assignment.State
_AVOIDED = "it has a warning"


@dataclass(frozen=True, kw_only=True)
class ContentWarningCounts:
    """Number of a worker's images with a content warning: assigned ones, viewed ones."""

    given: int
    shown: int


def set_warning(user: User | None, campaign: Campaign, name: str, text: str) -> Image:
    """Set the content warning of an image; an empty text removes it.

    Raises:
        NotFoundError: The campaign has no such image.
        CampaignError: The text is too long, or can't be stored.
    """
    text = text.strip()
    if len(text) > LONGEST_WARNING or not is_storable(text) or not text.isprintable():
        raise CampaignError(f"'warning' must be a line of at most {LONGEST_WARNING} characters")
    with transaction.atomic():
        found = Image.objects.select_for_update(no_key=True).filter(campaign=campaign, name=name).first()
        if found is None:
            raise NotFoundError(f"the campaign has no image {name!r}")
        found.warning = text
        found.save(update_fields=["warning"])
        what = f"set the warning of the image {name} in the campaign {campaign.slug}: {text or 'none'}"
        record(user, campaign.challenge, what)
    return found


def avoid_warnings(participation: Participation, *, avoid: bool) -> Participation:
    """Set whether a worker is never assigned images with a content warning.

    If so, held items with a warning are returned, except training items.

    Raises:
        AssignmentError: The worker has withdrawn.
    """
    with transaction.atomic():
        now = lock_participation(participation)
        check_not_withdrawn(now)
        now.avoids_warnings = avoid
        now.save(update_fields=["avoids_warnings"])
        held = now.assignments.filter(state__in=(_State.HELD, _State.EXPIRED), item__is_training=False)
        for one in _filter_warned(held).order_by("item") if avoid else ():
            set_aside(one, _State.RETURNED, _AVOIDED)
    return now


def show_image(held: Assignment) -> Image:
    """Return the image of an assigned item for its worker.

    For an image with a content warning, the first time is recorded.

    Raises:
        NotFoundError: The item has no image, or it may not be shown now.
    """
    picture = held.item.image
    # Images on hold are not shown to anyone: a person in the image may have asked for that.
    if picture is None or held.item.held:
        raise NotFoundError
    if held.state not in (_State.HELD, _State.SUBMITTED, _State.EXPIRED):
        raise NotFoundError
    if picture.warning and held.warned_shown is None:
        Assignment.objects.filter(pk=held.pk, warned_shown=None).update(warned_shown=database_time())
    return picture


def count_warned_images(participation: Participation) -> ContentWarningCounts:
    """Count a worker's assigned images with a content warning."""
    given = _filter_warned(participation.assignments.all())
    return ContentWarningCounts(**given.aggregate(given=Count("pk"), shown=Count("warned_shown")))


def _filter_warned(assignments: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Filter the assignments of images that currently have a content warning."""
    return assignments.filter(item__image__isnull=False).exclude(item__image__warning="")
