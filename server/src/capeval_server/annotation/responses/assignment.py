"""Assignment of items: one worker per slot at a time, each item once per worker.

A worker is assigned a batch of items, each with a lease. Activity renews all leases of the batch, up to the
longest lease. When a lease expires, its slot is free for others, but the worker may still answer
(`submit.py`). So clocks only determine who is assigned an item, and when.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import DateTimeField, Exists, ExpressionWrapper, F, OuterRef, QuerySet, Value
from django.db.models.functions import Greatest, Least
from django.utils.translation import gettext

from capeval_server.annotation.core.departures import check_not_withdrawn
from capeval_server.annotation.core.digests import draw_number
from capeval_server.annotation.core.locks import held, lock_items, lock_participation
from capeval_server.annotation.core.options import CampaignOptions, get_options
from capeval_server.annotation.core.slots import get_first_free_slots, update_free_counts, update_slots
from capeval_server.annotation.models import (
    Assignment,
    Campaign,
    Draft,
    Item,
    Participation,
    Report,
    Session,
    Slot,
)
from capeval_server.annotation.responses.adaptive_sampling import choose_items
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.workers.enrollment import has_agreed
from capeval_server.annotation.workers.panels import end, open_session, remaining_answers
from capeval_server.annotation.workers.training import finished_try, graded_items, next_items
from capeval_server.annotation.workers.trust import may_replace
from capeval_server.core.errors import AssignmentError, NotFoundError
from capeval_server.core.translatable_texts import gettext_noop
from capeval_server.jobs.leases import database_time

__all__ = [
    "AssignmentBatch",
    "assign_work",
    "expire_leases",
    "get_assignment",
    "has_work",
    "list_candidates",
    "renew_all_leases",
    "renew_leases",
    "report_item",
    "save_draft",
    "set_aside",
    "take_back",
]

_State = Assignment.State
_ASSIGNING = (Campaign.State.OPEN, Campaign.State.PILOT)
# Maximum number of expired leases that a request for work ends, to make room for new assignments.
_EXPIRED_AT_ONCE = 100
# Maximum number of choices of adaptive sampling per request: each choice reads all answers.
_CHOICES_AT_ONCE = 10
_CAMPAIGN_MESSAGES = {
    Campaign.State.DRAFT: gettext_noop("This campaign is not open yet."),
    Campaign.State.PAUSED: gettext_noop("This campaign is paused: there is no work now."),
    Campaign.State.CLOSING: gettext_noop("This campaign is closing: there is no new work."),
    Campaign.State.CLOSED: gettext_noop("This campaign is closed."),
}
_STAGE_MESSAGES = {
    Participation.Stage.INVITED: gettext_noop("Please read the instructions and agree to take part first."),
    Participation.Stage.PAUSED: gettext_noop("Your work is paused until an organizer has reviewed it."),
    Participation.Stage.BLOCKED: gettext_noop("You can no longer take part in this study."),
    Participation.Stage.SCREENED_OUT: gettext_noop(
        "Thank you for completing the training. Unfortunately you did not qualify for the main study."
    ),
    Participation.Stage.WITHDREW: gettext_noop("You have withdrawn from this campaign."),
}
_ENDED_MESSAGES = {
    _State.SUBMITTED: gettext_noop("this item is already submitted"),
    _State.RETURNED: gettext_noop("this item is already returned"),
    _State.SKIPPED: gettext_noop("this item is already skipped"),
    _State.REPORTED: gettext_noop("this item is already reported"),
    _State.PULLED: gettext_noop("this item is already pulled"),
}
_FEEDBACK_WAITS = gettext_noop("Please read the feedback on your training answers, then continue.")
_NOTHING_LEFT = gettext_noop("There is no work for you now.")
_NO_TRAINING = gettext_noop("There is no training for you now without images that have a content warning.")
_NEW_TEXTS = gettext_noop("The instructions were changed: please read them and agree to them first.")


@dataclass(frozen=True, kw_only=True)
class AssignmentBatch:
    """The items that a worker has to answer.

    Attributes:
        assignments: The batch in its order; empty if there is no work.
        why: The reason why there is no work, for the worker; untranslated.
    """

    assignments: list[Assignment]
    why: str = ""


def get_assignment(participation: Participation, lease: UUID) -> Assignment:
    """Return the worker's own assignment with a lease.

    Raises:
        NotFoundError: There is no such assignment, or it belongs to another worker.
    """
    rows = Assignment.objects.filter(participation=participation, lease=lease)
    found = rows.select_related("item", "slot").first()
    if found is None:
        raise NotFoundError("this worker has no item with this lease")
    found.participation = participation
    return found


def assign_work(participation: Participation) -> AssignmentBatch:
    """Return the assignments that a worker holds, or assign a new batch."""
    expire_leases(participation.campaign)
    _choose_next(participation)
    found = _assign_work(participation)
    # The chosen items may have been assigned to other workers in the meantime.
    while found.why == _NOTHING_LEFT and _choose_next(participation):
        found = _assign_work(participation)
    return found


def _choose_next(participation: Participation) -> bool:
    """Let adaptive sampling choose the next items if none are left for the worker.

    Campaigns without adaptive sampling choose no items.

    Returns:
        Whether there are chosen items for the worker now.
    """
    campaign = participation.campaign
    if not get_options(campaign).next_pairs or not _can_receive_batch(participation):
        return False
    left = list_candidates(participation, "free")
    chosen = left.filter(up_next=True)
    # All items of a choice may have a content warning, while the worker avoids warnings.
    for _ in range(_CHOICES_AT_ONCE):
        if chosen.exists():
            return True
        if not left.exists():
            return False
        with held(campaign) as now:
            if not chosen.exists():
                choose_items(now)
    return chosen.exists()


def _can_receive_batch(participation: Participation) -> bool:
    """Return whether the worker's stage and campaign allow a new batch."""
    now = Participation.objects.select_related("campaign").get(pk=participation.pk)
    return (
        now.stage == Participation.Stage.WORKING
        and now.campaign.state in _ASSIGNING
        and not now.assignments.filter(state=_State.HELD).exists()
    )


def _assign_work(participation: Participation) -> AssignmentBatch:
    with transaction.atomic():
        now = lock_participation(participation)
        session = open_session(now)
        why = _explain_no_work(now, session)
        if why:
            return AssignmentBatch(assignments=[], why=why)
        options = get_options(now.campaign)
        needed = None if session is None else remaining_answers(now, session)
        if session is not None and needed == 0:
            end(session, Session.Outcome.COMPLETED)
            return AssignmentBatch(assignments=[], why=str(Session.Outcome.COMPLETED.label))
        # Asking for work is activity, like loading the page.
        renew_leases(now, options, database_time())
        held = _resume_batch(now, options, needed)
        if held:
            return AssignmentBatch(assignments=held)
        if now.campaign.state not in _ASSIGNING:
            return AssignmentBatch(assignments=[], why=_CAMPAIGN_MESSAGES[Campaign.State(now.campaign.state)])
        if now.stage == Participation.Stage.TRAINING:
            return _assign_training(now, options, needed)
        given = _assign_batch(now, options, needed)
        return AssignmentBatch(assignments=given, why="" if given else _NOTHING_LEFT)


def _explain_no_work(participation: Participation, session: Session | None) -> str:
    """Return the reason why a worker gets no work at all, not even held items, or ""."""
    if session is not None and participation.stage == Participation.Stage.BLOCKED:
        end(session, Session.Outcome.FAILED_CHECKS)
    if session is not None and session.outcome:
        return str(Session.Outcome(session.outcome).label)
    if participation.stage in _STAGE_MESSAGES:
        return _STAGE_MESSAGES[Participation.Stage(participation.stage)]
    return "" if has_agreed(participation) else _NEW_TEXTS


def has_work(participation: Participation) -> bool:
    """Return whether a worker holds items, or could be assigned items now."""
    if participation.assignments.filter(state=_State.HELD).exists():
        return True
    if participation.stage == Participation.Stage.TRAINING:
        return participation.campaign.state in _ASSIGNING
    if participation.stage != Participation.Stage.WORKING or participation.campaign.state not in _ASSIGNING:
        return False
    trusted = may_replace(participation, get_options(participation.campaign))
    names = ("free_trusted", "free") if trusted else ("free",)
    return any(list_candidates(participation, name).exists() for name in names)


def _assign_training(
    participation: Participation, options: CampaignOptions, needed: int | None
) -> AssignmentBatch:
    """Assign the next training attempt, unless the worker still has to end the latest."""
    if finished_try(participation) is not None:
        return AssignmentBatch(assignments=[], why=_FEEDBACK_WAITS)
    made = _create_assignments(participation, [(item, None) for item in next_items(participation)], options)
    if not made and not graded_items(participation.campaign).exists():
        # All practice items are on hold, or have a content warning while the worker avoids warnings.
        participation.stage = Participation.Stage.WORKING
        participation.save(update_fields=["stage"])
        made = _assign_batch(participation, options, needed)
    nothing = _NO_TRAINING if participation.avoids_warnings else _NOTHING_LEFT
    return AssignmentBatch(assignments=made, why="" if made else nothing)


def expire_leases(campaign: Campaign) -> int:
    """End expired leases, which frees their slots, and return the number of leases."""
    over = Assignment.objects.filter(state=_State.HELD, lease_until__lt=database_time())
    of_it = over.filter(item__campaign=campaign).order_by("lease_until")
    found = dict(of_it.values_list("pk", "item_id")[:_EXPIRED_AT_ONCE])
    if not found:
        return 0
    with transaction.atomic():
        # Items locked by other requests are left to the next call.
        rows = Item.objects.select_for_update(skip_locked=True, no_key=True).filter(pk__in=found.values())
        items = list(rows.order_by("pk").values_list("pk", flat=True))
        number = over.filter(pk__in=found, item__in=items).update(state=_State.EXPIRED)
        update_slots(items, campaign)
    return number


def _resume_batch(
    participation: Participation, options: CampaignOptions, needed: int | None
) -> list[Assignment]:
    """Return the held items of the worker's latest batch.

    An expired lease is renewed if a slot of the item is free.

    Args:
        participation: The worker.
        options: The options of the campaign.
        needed: The number of answers that the session still needs; None without a session. A batch that was
            assigned in an earlier session, or before the panel's number was lowered, may be larger.
    """
    mine = participation.assignments.filter(
        batch=participation.batch, state__in=(_State.HELD, _State.EXPIRED)
    )
    found = list(mine.select_related("item", "slot").order_by("place"))
    if not found:
        return []
    # Training answers are not among the answers that a session needs.
    most = len(found) if needed is None or found[0].item.is_training else needed
    held = [one for one in found if one.state == _State.HELD]
    lost = [one for one in found if one.state == _State.EXPIRED][: max(0, most - len(held))]
    if lost and participation.campaign.state in _ASSIGNING:
        _renew_expired(participation, lost, database_time(), options)
    return [one for one in found if one.state == _State.HELD][:most]


def _renew_expired(
    participation: Participation, lost: list[Assignment], now: datetime, options: CampaignOptions
) -> None:
    items = {item.pk: item for item in lock_items(one.item_id for one in lost)}
    slots = get_first_free_slots(items.values(), trusted=may_replace(participation, options))
    for assignment in lost:
        item = items[assignment.item_id]
        slot = slots.get(item.pk)
        # Checks and preview assignments have no slot and need none.
        if item.held or (slot is None and assignment.slot_id is not None):
            continue
        if assignment.slot_id is not None:
            assignment.slot = slot
        assignment.state, assignment.opened = _State.HELD, now
        assignment.lease_until = now + timedelta(seconds=options.lease_seconds)
        assignment.save(update_fields=["slot", "state", "opened", "lease_until"])
    update_free_counts(items)


def _assign_batch(
    participation: Participation, options: CampaignOptions, needed: int | None
) -> list[Assignment]:
    """Assign a new batch, at most as large as the session needs.

    The batch is empty if there is no work for the worker.
    """
    size = options.batch if needed is None else min(options.batch, needed)
    trusted = may_replace(participation, options)
    check = _find_due_check(participation, options)
    repeat = _find_due_repeat(participation, options) if size > (check is not None) else None
    uncounted = [item for item in (check, repeat) if item is not None]
    wanted = size - len(uncounted)
    chosen_only = options.next_pairs > 0
    items = (
        _lock_free_items(participation, wanted, trusted=trusted, chosen_only=chosen_only) if wanted else []
    )
    if wanted and not items:
        return []
    previewed = participation.campaign.state == Campaign.State.PILOT
    slots = {} if previewed else get_first_free_slots(items, trusted=trusted)
    chosen: list[tuple[Item, Slot | None]] = [
        (item, slots.get(item.pk)) for item in items if previewed or item.pk in slots
    ]
    for item in uncounted:
        place = _draw(options, participation, f"place {item.pk}") % (len(chosen) + 1)
        chosen.insert(place, (item, None))
    made = _create_assignments(participation, chosen, options)
    update_free_counts(item.pk for item in items)
    return made


def _create_assignments(
    participation: Participation, chosen: Sequence[tuple[Item, Slot | None]], options: CampaignOptions
) -> list[Assignment]:
    now = database_time()
    participation.batch += 1
    participation.save(update_fields=["batch"])
    made = [
        Assignment(
            participation=participation,
            item=item,
            slot=slot,
            lease_until=now + timedelta(seconds=options.lease_seconds),
            mirrored=_is_mirrored(participation, item, slot, options),
            batch=participation.batch,
            place=place,
            opened=now,
        )
        for place, (item, slot) in enumerate(chosen, 1)
    ]
    return Assignment.objects.bulk_create(made)


def _is_mirrored(
    participation: Participation, item: Item, slot: Slot | None, options: CampaignOptions
) -> bool:
    """Return whether to mirror the sides.

    Every other slot is mirrored, so each text is on the left in half of the votes.
    """
    if not task_named(participation.campaign.kind).has_sides:
        return False
    if item.repeats_id is not None:
        return not participation.assignments.get(item=item.repeats_id).mirrored
    number = _draw(options, participation, item.key) if slot is None else slot.number
    return (number % 2 == 1) == item.mirrors_odd


def _lock_free_items(
    participation: Participation, number: int, *, trusted: bool, chosen_only: bool
) -> list[Item]:
    """Lock and return items with a free slot that the worker was never assigned.

    Items with the fewest missing answers come first.

    Args:
        participation: The worker.
        number: Maximum number of items.
        trusted: Whether the worker may also fill slots for trusted workers.
        chosen_only: Whether other slots are only assigned on items that adaptive sampling chose.
    """
    names = ("free_trusted", "free") if trusted else ("free",)
    left = {name: list_candidates(participation, name) for name in names}
    if chosen_only:
        left["free"] = left["free"].filter(up_next=True)
    found: list[Item] = []
    for name in names:
        rows = left[name].exclude(pk__in=[item.pk for item in found])
        found += rows.select_for_update(skip_locked=True, no_key=True)[: number - len(found)]
    for name in names if not found else ():
        # Other requests had locked all items: wait for one of them, which may still be free.
        found = _wait_for_item(left[name])
        if found:
            break
    return found


def _wait_for_item(left: QuerySet[Item]) -> list[Item]:
    """Wait for the lock of the first item that still matches, and return the item.

    An item that no longer matches is unlocked: otherwise it would be locked before items with lower keys. The
    result is empty if no item matches.
    """
    while (first := left.values_list("pk", flat=True).first()) is not None:
        with transaction.atomic():
            found = list(left.filter(pk=first).select_for_update(no_key=True))
            if found:
                return found
            transaction.set_rollback(True)
    return []


def list_candidates(participation: Participation, name: str) -> QuerySet[Item]:
    """Return the items that a worker could be assigned, fewest missing answers first.

    Args:
        participation: The worker.
        name: The kind of free slots: `free`, or `free_trusted` for the slots of trusted workers.
    """
    had = Assignment.objects.filter(participation=participation, item=OuterRef("pk"))
    rows = Item.objects.filter(campaign=participation.campaign_id, **{f"{name}__gt": 0})
    # This is the order of an index, so the database need not sort.
    return participation.unwarned(rows.filter(~Exists(had)).order_by(name, "rank"))


def _draw(options: CampaignOptions, participation: Participation, what: object) -> int:
    """Return a number derived from the campaign's seed, the worker and its use."""
    return draw_number(options.seed, participation.pk, participation.batch, what)


def _is_due(participation: Participation, options: CampaignOptions, what: str, every: int) -> bool:
    """Return whether an event that occurs once in N answers is due in this batch.

    The event occurs in one random batch of each interval.
    """
    if not every:
        return False
    stretch = options.count_batches_of(every)
    number, place = divmod(participation.batch, stretch)
    # Never in the first batch of an interval, so that two events are never in consecutive batches.
    return place == 1 + draw_number(options.seed, participation.pk, number, what) % (stretch - 1)


def _find_due_check(participation: Participation, options: CampaignOptions) -> Item | None:
    """Return a check that the worker was never assigned, if one is due."""
    if not _is_due(participation, options, "check", options.check_every) or _was_checked(participation):
        return None
    had = Assignment.objects.filter(participation=participation, item=OuterRef("pk"))
    checks = participation.campaign.items.filter(is_check=True, is_training=False, repeats=None, held=False)
    return participation.unwarned(checks.filter(~Exists(had)).order_by("rank")).first()


def _was_checked(participation: Participation) -> bool:
    """Return whether the latest batch had a check.

    `check_every` may have been changed since, so the interval is not enough.
    """
    latest = participation.assignments.filter(batch=participation.batch, item__is_check=True)
    return latest.filter(item__is_training=False, item__repeats=None).exists()


def _find_due_repeat(participation: Participation, options: CampaignOptions) -> Item | None:
    """Return the repetition of an item that the worker answered before, if one is due."""
    campaign = participation.campaign
    if not task_named(campaign.kind).has_sides or campaign.state == Campaign.State.PILOT:
        return None
    if not _is_due(participation, options, "repeat", options.repeat_every):
        return None
    again = Assignment.objects.filter(participation=participation, item__repeats=OuterRef("item"))
    # Items of the batch that just ended are excluded: the worker still remembers them. Checks and preview
    # assignments have no slot.
    answered = participation.assignments.filter(
        state=_State.SUBMITTED, slot__isnull=False, item__held=False, batch__lt=participation.batch
    )
    earlier = answered.filter(~Exists(again)).order_by("pk").values_list("item", flat=True)
    number = earlier.count()
    if not number:
        return None
    first = Item.objects.filter(pk=earlier[_draw(options, participation, "repeat") % number])
    found = participation.unwarned(first).first()
    repeat = None if found is None else _get_repeat(found)
    return None if repeat is None or repeat.held else repeat


def _get_repeat(item: Item) -> Item:
    """Return the repetition of an item; create it if needed."""
    names = ("key", "group", "category", "image_id", "payload", "rank", "mirrors_odd")
    same = {name: getattr(item, name) for name in names}
    made, _ = Item.objects.get_or_create(
        repeats=item, defaults={**same, "campaign_id": item.campaign_id, "is_check": True}
    )
    return made


def renew_all_leases(participation: Participation) -> None:
    """Renew the leases of all items that an active worker holds."""
    with transaction.atomic():
        _renew(lock_participation(participation))


def _renew(participation: Participation) -> None:
    renew_leases(participation, get_options(participation.campaign), database_time())


def renew_leases(participation: Participation, options: CampaignOptions, now: datetime) -> None:
    """Renew the leases of all items that a worker holds. The participation is locked.

    Activity keeps an item for at most `longest_lease_seconds` after its assignment. A renewal never shortens
    a lease.
    """
    held = participation.assignments.filter(state=_State.HELD)
    # Another transaction is taking a locked row back. Waiting for it could end in a deadlock, so it is
    # skipped.
    free = held.select_for_update(skip_locked=True, no_key=True).values("pk")
    longest = ExpressionWrapper(
        F("opened") + Value(timedelta(seconds=options.longest_lease_seconds)),
        output_field=DateTimeField(),
    )
    until = now + timedelta(seconds=options.lease_seconds)
    renewed = Greatest(F("lease_until"), Least(Value(until), longest))
    Assignment.objects.filter(pk__in=free, state=_State.HELD).update(lease_until=renewed)


def save_draft(assignment: Assignment, content: dict[str, object]) -> None:
    """Store the draft of an answer, and renew the leases of the batch."""
    with transaction.atomic():
        participation = lock_participation(assignment.participation)
        check_not_withdrawn(participation)
        now = Assignment.objects.get(pk=assignment.pk)
        if now.state not in (_State.SUBMITTED, _State.SKIPPED, _State.REPORTED):
            Draft.objects.update_or_create(
                assignment=now, defaults={"content": content, "saved": database_time()}
            )
        _renew(participation)


def set_aside(assignment: Assignment, state: str, reason: str = "") -> None:
    """Skip or return an assignment, which frees its slot for others.

    Args:
        assignment: The worker's assignment.
        state: Skipped or returned.
        reason: The worker's reason, if given.

    Raises:
        AssignmentError: It was answered, or set aside in a different way.
    """
    with transaction.atomic():
        participation = lock_participation(assignment.participation)
        check_not_withdrawn(participation)
        lock_items([assignment.item_id])
        now = Assignment.objects.get(pk=assignment.pk)
        if now.state == state:
            return
        _end_assignment(now, state, reason)
        update_slots([assignment.item_id], participation.campaign)
        # A worker who returns an item stops working.
        if state == _State.SKIPPED:
            _renew(participation)


def _end_assignment(assignment: Assignment, state: str, reason: str = "") -> None:
    if assignment.state not in (_State.HELD, _State.EXPIRED):
        raise AssignmentError(gettext(_ENDED_MESSAGES[_State(assignment.state)]))
    assignment.state, assignment.reason = state, reason
    assignment.save(update_fields=["state", "reason"])
    Draft.objects.filter(assignment=assignment).delete()


def report_item(assignment: Assignment, reason: str, note: str = "") -> Report:
    """Report an item instead of answering it; enough reports put the item on hold.

    Raises:
        AssignmentError: It was already answered or set aside.
    """
    with transaction.atomic():
        participation = lock_participation(assignment.participation)
        check_not_withdrawn(participation)
        (item,) = lock_items([assignment.item_id])
        now = Assignment.objects.get(pk=assignment.pk)
        known = Report.objects.filter(assignment=now).first()
        if known is not None:
            return known
        _end_assignment(now, _State.REPORTED)
        made = Report.objects.create(
            assignment=now, item=item, reason=reason, note=note, time=database_time()
        )
        options = get_options(participation.campaign)
        if not item.held and item.reports.count() >= options.reports_to_hold:
            item.held, item.held_reason = True, f"{options.reports_to_hold} workers reported it"
            item.save(update_fields=["held", "held_reason"])
            _pull(Assignment.objects.filter(item=item, state=_State.HELD))
        update_slots([item.pk], participation.campaign)
        _renew(participation)
    return made


def take_back(campaign: Campaign, assignments: QuerySet[Assignment]) -> None:
    """Take back held assignments of a campaign. Their participations are locked."""
    items = sorted(set(assignments.filter(state=_State.HELD).values_list("item_id", flat=True)))
    lock_items(items)
    _pull(assignments.filter(state=_State.HELD))
    update_slots(items, campaign)


def _pull(assignments: QuerySet[Assignment]) -> None:
    assignments.update(state=_State.PULLED)
