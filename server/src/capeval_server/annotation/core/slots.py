"""Slots: free slots, the answers that fill slots, and the counts of free slots.

The caller of each function has locked the items (see `locks.py`), so the data that the function reads don't
change until the end of the transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from capeval.formats.judgments.plans import PAIR_CHOICES
from capeval.studies.plan import winners
from capeval.studies.votes import is_confident, is_decided
from capeval_server.annotation.core.locks import list_pair_items
from capeval_server.annotation.core.options import CampaignOptions, get_options
from capeval_server.annotation.models import Assignment, Campaign, Exclusion, Item, Response, Review, Slot
from capeval_server.annotation.task_types import task_named

__all__ = [
    "EarlyStoppedItems",
    "count_free_slots",
    "count_slots",
    "empty",
    "fill_slots",
    "find_ended_items",
    "free_slots",
    "get_first_free_slots",
    "open_slots",
    "select_countable",
    "update_free_counts",
    "update_slots",
    "update_slots_after_answer",
]

_HELD = Assignment.State.HELD


def free_slots(*, trusted: bool) -> QuerySet[Slot]:
    """Return the slots that can be assigned or filled, in their order.

    Args:
        trusted: Also include the slots that are reserved for trusted workers.
    """
    held = Assignment.objects.filter(slot=OuterRef("pk"), state=_HELD)
    # SQLite would estimate that `filled_by=None` is rare, and read all empty slots by the index of that
    # column.
    empty = Slot.objects.alias(filled=Coalesce("filled_by_id", Value(0))).filter(filled=0, closed=False)
    found = empty.filter(~Exists(held))
    return (found if trusted else found.filter(trusted_only=False)).order_by("item_id", "number")


def get_first_free_slots(items: Iterable[Item], *, trusted: bool) -> dict[int, Slot]:
    """Return the first free slot of each item that has one, by the item's key."""
    found: dict[int, Slot] = {}
    for slot in free_slots(trusted=trusted).filter(item__in=[item.pk for item in items]):
        found.setdefault(slot.item_id, slot)
    return found


def count_free_slots(*, trusted_only: bool) -> Coalesce:
    """Return an expression for the number of free slots of an item.

    Args:
        trusted_only: Count the slots that are reserved for trusted workers, instead of the slots for
            everybody.
    """
    return count_slots(free_slots(trusted=True).filter(trusted_only=trusted_only))


def count_slots(slots: QuerySet[Slot]) -> Coalesce:
    """Return an expression for the number of an item's slots in a query set."""
    of_item = slots.filter(item=OuterRef("pk")).order_by().values("item")
    counted = of_item.annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))


# The plus keeps SQLite from using the index on `filled_by_id`, as in `free_slots`. The statement is raw SQL
# because Django would need more time to build it, for each answer, than the database needs to run it.
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
# Maximum number of keys in a statement: SQLite limits the number of parameters.
_KEYS_AT_ONCE = 500


def update_free_counts(items: Iterable[int]) -> None:
    """Update the counts of free slots after changes of slots or of assignments."""
    keys = list(items)
    with connection.cursor() as cursor:
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[start : start + _KEYS_AT_ONCE]
            cursor.execute(_RECOUNT % ", ".join(["%s"] * len(some)), some)


def update_slots(items: Iterable[int], campaign: Campaign, *, voted: bool = False) -> None:
    """Update the slots of items after a change of answers or assignments.

    Items that have enough answers end.

    Args:
        items: The keys of the items.
        campaign: Their campaign.
        voted: Whether the set of counted answers changed. Then all items of the affected pairs, which the
            caller has locked (`lock_voted`), may end or continue.
    """
    keys = list(items)
    options = get_options(campaign)
    changed: set[int] = set()
    if options.curtail or options.confidence:
        opened = list_pair_items(keys, campaign) if voted and options.confidence else keys
        for start in range(0, len(opened), _KEYS_AT_ONCE):
            changed |= open_slots(opened[start : start + _KEYS_AT_ONCE], campaign)
    # Only changed items are recounted, because each recount writes the item's row.
    update_free_counts({*keys, *changed})


def update_slots_after_answer(
    items: Collection[int], campaign: Campaign, options: CampaignOptions
) -> set[int]:
    """End or reopen items after a new answer to one of them.

    Args:
        items: The keys of the items that the answer can end, as returned by `lock_pair`.
        campaign: Their campaign.
        options: Options of the campaign.

    Returns:
        The keys of the items whose slots changed, which the caller recounts.
    """
    if not (options.curtail or options.confidence):
        return set()
    return _open_slots(set(items), items, campaign, options)


def open_slots(items: Iterable[int], campaign: Campaign) -> set[int]:
    """Open as many slots of each item as it needs, and close the others.

    Missing slots are added.

    An item keeps its filled slots, then the held ones, then those that were open. An item that has ended
    early keeps only its filled and held slots.

    Returns:
        The keys of the items whose slots changed.
    """
    options, keys = get_options(campaign), set(items)
    return _open_slots(
        keys, list_pair_items(keys, campaign) if options.confidence else keys, campaign, options
    )


def _open_slots(
    keys: set[int], loaded: Iterable[int], campaign: Campaign, options: CampaignOptions
) -> set[int]:
    """Open and close slots.

    Args:
        keys: The keys of the items.
        loaded: The keys of all items that determine whether these items end.
        campaign: Their campaign.
        options: Options of the campaign.
    """
    slots = _load_slots(loaded)
    over: frozenset[int] = frozenset()
    if options.curtail or options.confidence:
        kept = {
            item: _get_votes(one.answer for one in found[: options.answers]) for item, found in slots.items()
        }
        over = _find_ended(campaign, kept, {item: found[0].group for item, found in slots.items()}).items
    changed, added = [], []
    # Only items with slots: checks have none and must not get any.
    for item in sorted(keys & slots.keys()):
        found = slots[item]
        for place, slot in enumerate(found):
            unused = slot.filled_by_id is None and not slot.is_held
            closed = place >= options.answers or (unused and item in over)
            if slot.closed != closed:
                slot.closed = closed
                slot.filled_by_id = None if closed else slot.filled_by_id
                changed.append(slot)
        first = max(slot.number for slot in found) + 1
        added += [Slot(item_id=item, number=first + more) for more in range(options.answers - len(found))]
    Slot.objects.bulk_update(changed, ["closed", "filled_by"], batch_size=500)
    Slot.objects.bulk_create(added, batch_size=5000)
    return {slot.item_id for slot in (*changed, *added)}


def _load_slots(items: Iterable[int]) -> dict[int, list[Any]]:
    """Return the slots of items, with `answer`, `group` and `is_held`.

    The slots of an item are in the order in which they are kept: filled ones, held ones, open ones.
    """
    slots: dict[int, list[Any]] = {}
    rows = Slot.objects.filter(item__in=list(items)).annotate(
        answer=F("filled_by__answer"),
        group=F("item__group"),
        is_held=Exists(Assignment.objects.filter(slot=OuterRef("pk"), state=_HELD)),
    )
    for slot in rows:
        slots.setdefault(slot.item_id, []).append(slot)
    for found in slots.values():
        found.sort(key=lambda s: (s.filled_by_id is None, not s.is_held, s.closed, s.number))
    return slots


@dataclass(frozen=True, kw_only=True)
class EarlyStoppedItems:
    """Items and pairs that ended before all answers were given.

    Attributes:
        items: The keys of these items, and of the items that have all answers.
        decided: Number of items that lack answers, but whose winner these couldn't change.
        pairs: Number of pairs whose winner is likely enough.
    """

    items: frozenset[int]
    decided: int
    pairs: int


def find_ended_items(campaign: Campaign) -> EarlyStoppedItems:
    """Return the items and pairs that ended early, if the campaign's options allow it."""
    options = get_options(campaign)
    groups: dict[int, str] = {}
    if options.curtail or options.confidence:
        groups = dict(campaign.items.filter(is_check=False).values_list("pk", "group"))
    answers: dict[int, list[Mapping[str, str] | None]] = {item: [] for item in groups}
    filled = Slot.objects.filter(item__in=campaign.items.filter(is_check=False), filled_by__isnull=False)
    for item, answer in filled.values_list("item_id", "filled_by__answer") if groups else ():
        answers[item].append(answer)
    return _find_ended(campaign, {item: _get_votes(given) for item, given in answers.items()}, groups)


def _get_votes(answers: Iterable[Mapping[str, str] | None]) -> list[int]:
    return [PAIR_CHOICES[answer["choice"]] for answer in answers if answer is not None]


def _find_ended(
    campaign: Campaign, votes: Mapping[int, Sequence[int]], groups: Mapping[int, str]
) -> EarlyStoppedItems:
    """Return the items and pairs that have ended.

    Args:
        campaign: Their campaign.
        votes: The counted answers to each item. If pairs can end, all items of each pair must be present.
        groups: The group of each item.
    """
    options = get_options(campaign)
    decided = {
        item for item, given in votes.items() if options.curtail and is_decided(given, options.answers)
    }
    pairs: dict[str | int, list[int]] = {}
    for item in votes if options.confidence else ():
        pairs.setdefault(groups[item] or item, []).append(item)
    level, least = options.confidence, options.confidence_votes
    sure = [
        of_pair
        for of_pair in pairs.values()
        if is_confident(
            _count_pair_votes(campaign, [votes[one] for one in of_pair]), level=level, least=least
        )
    ]
    return EarlyStoppedItems(
        items=frozenset(decided.union(*sure)),
        decided=sum(len(votes[item]) < options.answers for item in decided),
        pairs=len(sure),
    )


def _count_pair_votes(campaign: Campaign, answers: Sequence[Sequence[int]]) -> list[int]:
    """Return the votes on a pair, given the answers to each of its items.

    Answers to the same triplet are not independent of each other, so a triplet has one vote, once its
    majority is decided.
    """
    if not task_named(campaign.kind).votes_once:
        return [vote for given in answers for vote in given]
    wanted = get_options(campaign).answers
    votes: list[int] = winners([given for given in answers if is_decided(given, wanted)]).tolist()
    return votes


def empty(responses: QuerySet[Response], *, trusted_only: bool) -> list[int]:
    """Remove answers from the slots that they fill.

    Args:
        responses: The answers.
        trusted_only: Whether only trusted workers can be assigned the slots from then on.

    Returns:
        The keys of the items whose slots are free again, which the caller recounts.
    """
    filled = Slot.objects.filter(filled_by__in=responses)
    items = sorted(set(filled.values_list("item_id", flat=True)))
    values = {"filled_by": None, **({"trusted_only": True} if trusted_only else {})}
    filled.update(**values)
    return items


def select_countable() -> QuerySet[Response]:
    """Return the answers that may fill a slot.

    These are the newest answers of their assignments, neither redacted, rejected nor excluded.
    """
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


def fill_slots(responses: Iterable[Response]) -> list[int]:
    """Assign answers to free slots of their items, to their former slots first.

    Returns:
        The keys of the items with a newly filled slot, which the caller recounts.
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
