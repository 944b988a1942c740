"""The order in which rows of campaigns are locked, which prevents deadlocks.

A campaign comes first, then participations, items, slots, assignments; several rows of a table in the order
of their keys. What a worker does locks the worker's participation alone, and then the items that it changes.
Slots, and the state of assignments, change only while their item is locked.

What changes a whole campaign locks all participations in it: then no worker is in the middle of something. A
shared lock of the campaign's row would do the same, but who changes the campaign might never get a turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.db import transaction

from capeval_server.annotation.models import Campaign, Item, Participation
from capeval_server.errors import NotFoundError

__all__ = ["held", "lock_items", "lock_participation"]


@contextmanager
def held(campaign: Campaign) -> Iterator[Campaign]:
    """The campaign as it is now. Until the end, no worker does anything in it."""
    with transaction.atomic():
        found = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        list(
            Participation.objects.select_for_update(no_key=True)
            .filter(campaign=campaign)
            .order_by("pk")
            .values_list("pk")
        )
        yield found


def lock_participation(participation: Participation) -> Participation:
    """A participation as it is now, with its campaign as it is now; its worker does nothing else meanwhile.

    Raises:
        NotFoundError: It is gone.
    """
    rows = Participation.objects.select_for_update(no_key=True)
    found = rows.filter(pk=participation.pk).first()
    if found is None:
        raise NotFoundError
    # Read after the lock: while that was awaited, the campaign may have been closed.
    found.campaign = Campaign.objects.get(pk=found.campaign_id)
    return found


def lock_items(items: Iterable[int]) -> list[Item]:
    """Items as they are now, in the order of their keys. Their slots don't change meanwhile."""
    rows = Item.objects.select_for_update(no_key=True).filter(pk__in=list(items))
    return list(rows.order_by("pk"))
