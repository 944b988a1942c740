"""Slots: which are free, which answer fills one, and the counts of free ones.

Whoever calls a function here has locked the items (see `locks.py`), so what it reads stays until the end of
the transaction.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection
from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from capeval_server.annotation.models import Assignment, Exclusion, Item, Response, Review, Slot

__all__ = ["countable", "empty", "fill", "first_free", "free_slots", "number_free", "recount"]

_HELD = Assignment.State.HELD


def free_slots(*, trusted: bool) -> QuerySet[Slot]:
    """The slots that can be given out or filled, in their order.

    Args:
        trusted: Also those for trusted workers alone.
    """
    held = Assignment.objects.filter(slot=OuterRef("pk"), state=_HELD)
    # SQLite would take `filled_by=None` for a rare value, and read all empty slots by its index.
    empty = Slot.objects.alias(filled=Coalesce("filled_by_id", Value(0))).filter(filled=0, closed=False)
    found = empty.filter(~Exists(held))
    return (found if trusted else found.filter(trusted_only=False)).order_by("item_id", "number")


def first_free(items: Iterable[Item], *, trusted: bool) -> dict[int, Slot]:
    """The first free slot of each item that has one, by the item's key."""
    found: dict[int, Slot] = {}
    for slot in free_slots(trusted=trusted).filter(item__in=[item.pk for item in items]):
        found.setdefault(slot.item_id, slot)
    return found


def number_free(*, trusted_only: bool) -> Coalesce:
    """How many free slots an item has, as an expression of its row.

    Args:
        trusted_only: Those for trusted workers alone, or those for everybody.
    """
    free = free_slots(trusted=True).filter(item=OuterRef("pk"), trusted_only=trusted_only)
    counted = free.order_by().values("item").annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))


# The plus keeps SQLite from an index of what fills slots, as in `free_slots`. Written by hand: Django would
# take longer to make it, for each answer, than the database to run it.
_RECOUNT = """
UPDATE annotation_item SET (free, free_trusted) = (
    SELECT COALESCE(SUM(CASE WHEN slot.trusted_only THEN 0 ELSE 1 END), 0),
        COALESCE(SUM(CASE WHEN slot.trusted_only THEN 1 ELSE 0 END), 0)
    FROM annotation_slot slot
    WHERE slot.item_id = annotation_item.id AND +slot.filled_by_id IS NULL AND NOT slot.closed
        AND NOT annotation_item.held AND NOT annotation_item.is_check
        AND NOT EXISTS (
            SELECT 1 FROM annotation_assignment held WHERE held.slot_id = slot.id AND held.state = 'held'
        )
) WHERE id IN (%s)"""
# The most keys that one statement has: SQLite takes no more than some thousands.
_KEYS_AT_ONCE = 500


def recount(items: Iterable[int]) -> None:
    """Counts the free slots of items again, after a change of their slots or of who holds them."""
    keys = list(items)
    with connection.cursor() as cursor:
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[start : start + _KEYS_AT_ONCE]
            cursor.execute(_RECOUNT % ", ".join(["%s"] * len(some)), some)


def empty(responses: QuerySet[Response], *, trusted_only: bool) -> list[int]:
    """Takes answers out of the slots that they fill.

    Args:
        responses: The answers.
        trusted_only: Whether only trusted workers get the slots from then on.

    Returns:
        The keys of the items whose slots are free again, which the caller recounts.
    """
    filled = Slot.objects.filter(filled_by__in=responses)
    items = sorted(set(filled.values_list("item_id", flat=True)))
    values = {"filled_by": None, **({"trusted_only": True} if trusted_only else {})}
    filled.update(**values)
    return items


def countable() -> QuerySet[Response]:
    """The answers that may fill a slot: the newest of their assignment, neither rejected nor excluded."""
    later = Response.objects.filter(assignment=OuterRef("assignment"), revision__gt=OuterRef("revision"))
    verdicts = Review.objects.filter(response=OuterRef("pk")).order_by("-pk").values("verdict")[:1]
    excluded = Exclusion.objects.filter(lifted=None).filter(
        Q(participation=OuterRef("participation")) | Q(response=OuterRef("pk"))
    )
    return (
        Response.objects.filter(may_count=True, redacted="")
        .filter(~Exists(later), ~Exists(excluded))
        .annotate(verdict=Subquery(verdicts))
        .filter(Q(verdict=None) | ~Q(verdict=Review.Verdict.REJECTED))
    )


def fill(responses: Iterable[Response]) -> list[int]:
    """Has answers fill a free slot of their item where there is one: first the slot that each had.

    Returns:
        The keys of the items of which a slot was filled, which the caller recounts.
    """
    filled = []
    for response in responses:
        own = F("number") - (response.assignment.slot.number if response.assignment.slot else 0)
        slots = free_slots(trusted=True).filter(item=response.item_id).annotate(away=own * own)
        slot = slots.order_by("away", "number").first()
        if slot is not None:
            slot.filled_by = response
            slot.save(update_fields=["filled_by"])
            filled.append(response.item_id)
    return filled
