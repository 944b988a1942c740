"""The order in which rows of campaigns are locked, which prevents deadlocks.

A campaign comes first, then participations, items, slots, assignments; several rows of a table in the order
of their keys. What a worker does locks the worker's participation alone, and then the items that it changes.
Slots, and the state of assignments, change only while their item is locked. Where all items of a pair end at
once, as its winner is likely enough, who changes which answers count locks all items of the pair: so whoever
has locked one of them can tell from the answers to all of them whether it has ended.

What changes a whole campaign locks all participations in it: then no worker is in the middle of something. A
shared lock of the campaign's row would do the same, but who changes the campaign might never get a turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import Q

from capeval_server.annotation.core.options import CampaignOptions, options_of
from capeval_server.annotation.models import Campaign, Item, Participation, TextVersion
from capeval_server.core.errors import AssignmentError, NotFoundError

__all__ = [
    "held",
    "lock_for_answer",
    "lock_items",
    "lock_pair",
    "lock_participation",
    "lock_voted",
    "of_pairs",
]


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
    found = _lock_row(participation)
    # Read after the lock: while that was awaited, the campaign may have been closed.
    found.campaign = Campaign.objects.get(pk=found.campaign_id)
    return found


def lock_for_answer(participation: Participation) -> tuple[Participation, TextVersion]:
    """Lock a participation like `lock_participation`, and read its campaign with the latest texts.

    Returns:
        The participation, and the number and rules of the texts.

    Raises:
        NotFoundError: The participation is gone.
        AssignmentError: The campaign has no texts.
    """
    found = _lock_row(participation)
    rows = TextVersion.objects.select_related("campaign").defer("instructions", "consent")
    texts = rows.filter(campaign=found.campaign_id).order_by("-number").first()
    if texts is None:
        raise AssignmentError("this campaign has no instructions")
    found.campaign = texts.campaign
    return found, texts


def _lock_row(participation: Participation) -> Participation:
    rows = Participation.objects.select_for_update(no_key=True)
    found = rows.filter(pk=participation.pk).first()
    if found is None:
        raise NotFoundError
    return found


def lock_items(items: Iterable[int]) -> list[Item]:
    """Items as they are now, in the order of their keys. Their slots don't change meanwhile."""
    rows = Item.objects.select_for_update(no_key=True).filter(pk__in=list(items))
    return list(rows.order_by("pk"))


def lock_voted(items: Iterable[int], campaign: Campaign) -> dict[int, Item]:
    """Lock items before a change of which of their answers count, and return them by their keys.

    If pairs end when their winner is likely, the other items of the pairs are locked and returned too.
    """
    keys = list(items)
    found = lock_items(of_pairs(keys, campaign) if options_of(campaign).confidence else keys)
    return {item.pk: item for item in found}


def lock_pair(item: Item, options: CampaignOptions) -> dict[int, Item]:
    """Lock one item like `lock_voted`, in one query: the group of an item never changes."""
    wanted = Q(pk=item.pk)
    if options.confidence and item.group and not item.is_check:
        wanted |= Q(campaign=item.campaign_id, group=item.group, is_check=False)
    rows = Item.objects.select_for_update(no_key=True).filter(wanted)
    return {found.pk: found for found in rows.order_by("pk")}


def of_pairs(items: Iterable[int], campaign: Campaign) -> list[int]:
    """The keys of items, and of all items about the same pairs, one pair after the other.

    What is about the same pair has the same group. Checks are about none.
    """
    keys = list(items)
    rows = campaign.items.filter(is_check=False)
    groups = set(rows.filter(pk__in=keys).exclude(group="").values_list("group", flat=True))
    grouped = rows.filter(group__in=groups).order_by("group", "pk").values_list("pk", flat=True)
    return list(dict.fromkeys([*grouped, *keys]))
