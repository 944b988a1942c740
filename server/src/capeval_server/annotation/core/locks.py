"""Row locks of campaigns, in a fixed order that prevents deadlocks.

The order is: campaign, participations, items, slots, assignments; rows of the same table in the order of
their keys. A request of a worker locks only the worker's participation, and then the items that it changes.
Slots, and the states of assignments, change only while their item is locked. If all items of a pair end when
its winner is likely enough, any change of the counted answers locks all items of the pair. So whoever has
locked one of them can decide from the answers to all of them whether the pair has ended.

A change of the whole campaign locks all of its participations, so that no worker's request is in progress. A
shared lock on the campaign's row would have the same effect, but a change of the campaign might then wait
forever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import Q

from capeval_server.annotation.core.options import CampaignOptions, get_options
from capeval_server.annotation.models import Campaign, Item, Participation, TextVersion
from capeval_server.core.errors import AssignmentError, NotFoundError

__all__ = [
    "held",
    "list_pair_items",
    "lock_for_answer",
    "lock_items",
    "lock_pair",
    "lock_participation",
    "lock_voted",
]


@contextmanager
def held(campaign: Campaign) -> Iterator[Campaign]:
    """Lock a campaign and yield its current row; no worker's request runs meanwhile.

    Raises:
        NotFoundError: The campaign was deleted.
    """
    with transaction.atomic():
        found = Campaign.objects.select_for_update(no_key=True).filter(pk=campaign.pk).first()
        if found is None:
            raise NotFoundError
        list(
            Participation.objects.select_for_update(no_key=True)
            .filter(campaign=campaign)
            .order_by("pk")
            .values_list("pk")
        )
        yield found


def lock_participation(participation: Participation) -> Participation:
    """Lock a participation, and return its current row with its current campaign.

    No other request of the worker runs until the transaction ends.

    Raises:
        NotFoundError: The participation no longer exists.
    """
    found = _lock_row(participation)
    # Read after the lock: the campaign may have been closed while the lock was awaited.
    found.campaign = Campaign.objects.get(pk=found.campaign_id)
    return found


def lock_for_answer(participation: Participation) -> tuple[Participation, TextVersion]:
    """Lock a participation like `lock_participation`, and read the latest texts.

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
    """Lock items, and return their current rows in the order of their keys.

    Their slots don't change until the transaction ends.
    """
    rows = Item.objects.select_for_update(no_key=True).filter(pk__in=list(items))
    return list(rows.order_by("pk"))


def lock_voted(items: Iterable[int], campaign: Campaign) -> dict[int, Item]:
    """Lock items before a change of their counted answers; return them by their keys.

    If pairs end when their winner is likely, the other items of the pairs are locked and returned too.
    """
    keys = list(items)
    found = lock_items(list_pair_items(keys, campaign) if get_options(campaign).confidence else keys)
    return {item.pk: item for item in found}


def lock_pair(item: Item, options: CampaignOptions) -> dict[int, Item]:
    """Lock one item like `lock_voted`, but in one query.

    This is possible because the group of an item never changes.
    """
    wanted = Q(pk=item.pk)
    if options.confidence and item.group and not item.is_check:
        wanted |= Q(campaign=item.campaign_id, group=item.group, is_check=False)
    rows = Item.objects.select_for_update(no_key=True).filter(wanted)
    return {found.pk: found for found in rows.order_by("pk")}


def list_pair_items(items: Iterable[int], campaign: Campaign) -> list[int]:
    """Return the keys of items and of all items of the same pairs, pair by pair.

    Items of the same pair have the same group. Checks belong to no pair.
    """
    keys = list(items)
    rows = campaign.items.filter(is_check=False)
    groups = set(rows.filter(pk__in=keys).exclude(group="").values_list("group", flat=True))
    grouped = rows.filter(group__in=groups).order_by("group", "pk").values_list("pk", flat=True)
    return list(dict.fromkeys([*grouped, *keys]))
