"""Giving out work: each free slot to one worker at a time, and each item to a worker once.

A worker gets a batch of items, and holds each by a lease. Activity renews all leases of the batch, up to the
longest lease. A lease that runs out frees the slot for others; the worker may answer all the same
(`submit.py`). So clocks decide nothing but who gets what, and when.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import DateTimeField, Exists, ExpressionWrapper, F, OuterRef, QuerySet, Value
from django.db.models.functions import Greatest, Least

from capeval_server.annotation.core.departures import check_here
from capeval_server.annotation.core.digests import drawn
from capeval_server.annotation.core.locks import held, lock_items, lock_participation
from capeval_server.annotation.core.options import CampaignOptions, options_of
from capeval_server.annotation.core.slots import first_free, recount, settle
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
from capeval_server.annotation.responses.adaptive_sampling import choose
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.workers.enrollment import has_agreed
from capeval_server.annotation.workers.panels import end, open_session, remaining_answers
from capeval_server.annotation.workers.training import finished_try, graded_items, next_items
from capeval_server.annotation.workers.trust import is_trusted
from capeval_server.core.errors import AssignmentError, NotFoundError
from capeval_server.jobs.leases import database_time

__all__ = [
    "AssignmentBatch",
    "candidates",
    "expire",
    "find",
    "has_work",
    "pull",
    "renew",
    "renew_leases",
    "report",
    "save_draft",
    "set_aside",
    "work",
]

_State = Assignment.State
_GIVING = (Campaign.State.OPEN, Campaign.State.PILOT)
# How many leases that ran out one request ends: whoever asks for work makes room for it.
_EXPIRED_AT_ONCE = 100
# How often one request chooses the items that come next: each choice reads all answers.
_CHOICES_AT_ONCE = 10
_NOT_GIVING = {
    Campaign.State.DRAFT: "This campaign is not open yet.",
    Campaign.State.PAUSED: "This campaign is paused: there is no work now.",
    Campaign.State.CLOSING: "This campaign is closing: there is no new work.",
    Campaign.State.CLOSED: "This campaign is closed.",
}
_NOT_WORKING = {
    Participation.Stage.INVITED: "Please read the instructions and agree to take part first.",
    Participation.Stage.PAUSED: "Your work is paused until somebody of the campaign has looked at it.",
    Participation.Stage.BLOCKED: "You get no more work in this campaign.",
    Participation.Stage.SCREENED_OUT: "Thank you for the training. You get no more work in this campaign.",
    Participation.Stage.WITHDREW: "You have left this campaign.",
}
_TRAINED = "Please look at the answers of the training, and go on."
_NOTHING_LEFT = "There is no work for you now."
_AVOIDED_TRAINING = "There is no training for you now without images that have a warning."
_NEW_TEXTS = "The instructions were changed: please read them and agree to them first."


@dataclass(frozen=True, kw_only=True)
class AssignmentBatch:
    """What a worker has to do.

    Attributes:
        assignments: The batch, in its order; empty if there is none.
        why: Why there is none, for the worker.
    """

    assignments: list[Assignment]
    why: str = ""


def find(participation: Participation, lease: UUID) -> Assignment:
    """The worker's own assignment with a lease.

    Raises:
        NotFoundError: There is none, or it is another worker's.
    """
    rows = Assignment.objects.filter(participation=participation, lease=lease)
    found = rows.select_related("item", "slot").first()
    if found is None:
        raise NotFoundError
    found.participation = participation
    return found


def work(participation: Participation) -> AssignmentBatch:
    """What a worker has to do: what they hold, or else a new batch."""
    expire(participation.campaign)
    _choose_next(participation)
    found = _work(participation)
    # What was chosen may be given to others meanwhile.
    while found.why == _NOTHING_LEFT and _choose_next(participation):
        found = _work(participation)
    return found


def _choose_next(participation: Participation) -> bool:
    """Chooses the items that come next, where a campaign does so and a worker has had all that were chosen.

    Returns:
        Whether there are chosen items for the worker now.
    """
    campaign = participation.campaign
    if not options_of(campaign).next_pairs or not _can_be_given(participation):
        return False
    left = candidates(participation, "free")
    chosen = left.filter(up_next=True)
    # All that one choice takes may have a warning, which the worker wants none of.
    for _ in range(_CHOICES_AT_ONCE):
        if chosen.exists():
            return True
        if not left.exists():
            return False
        with held(campaign) as now:
            if not chosen.exists():
                choose(now)
    return chosen.exists()


def _can_be_given(participation: Participation) -> bool:
    """Whether a worker could be given a new batch."""
    now = Participation.objects.select_related("campaign").get(pk=participation.pk)
    return (
        now.stage == Participation.Stage.WORKING
        and now.campaign.state in _GIVING
        and not now.assignments.filter(state=_State.HELD).exists()
    )


def _work(participation: Participation) -> AssignmentBatch:
    with transaction.atomic():
        now = lock_participation(participation)
        session = open_session(now)
        why = _why_no_work(now, session)
        if why:
            return AssignmentBatch(assignments=[], why=why)
        options = options_of(now.campaign)
        needed = None if session is None else remaining_answers(now, session)
        if session is not None and needed == 0:
            end(session, Session.Outcome.COMPLETED)
            return AssignmentBatch(assignments=[], why=str(Session.Outcome.COMPLETED.label))
        # Asking for work is activity, as loading the page is.
        renew_leases(now, options, database_time())
        held = _taken_back(now, options, needed)
        if held:
            return AssignmentBatch(assignments=held)
        if now.campaign.state not in _GIVING:
            return AssignmentBatch(assignments=[], why=_NOT_GIVING[Campaign.State(now.campaign.state)])
        if now.stage == Participation.Stage.TRAINING:
            return _train(now, options, needed)
        given = _give(now, options, needed)
        return AssignmentBatch(assignments=given, why="" if given else _NOTHING_LEFT)


def _why_no_work(participation: Participation, session: Session | None) -> str:
    """Why a worker gets nothing at all, not even what they hold; empty if they do."""
    if session is not None and participation.stage == Participation.Stage.BLOCKED:
        end(session, Session.Outcome.FAILED_CHECKS)
    if session is not None and session.outcome:
        return str(Session.Outcome(session.outcome).label)
    if participation.stage in _NOT_WORKING:
        return _NOT_WORKING[Participation.Stage(participation.stage)]
    return "" if has_agreed(participation) else _NEW_TEXTS


def has_work(participation: Participation) -> bool:
    """Whether a worker holds something, or could be given something now."""
    if participation.assignments.filter(state=_State.HELD).exists():
        return True
    if participation.stage == Participation.Stage.TRAINING:
        return participation.campaign.state in _GIVING
    if participation.stage != Participation.Stage.WORKING or participation.campaign.state not in _GIVING:
        return False
    trusted = is_trusted(participation, options_of(participation.campaign))
    names = ("free_trusted", "free") if trusted else ("free",)
    return any(candidates(participation, name).exists() for name in names)


def _train(participation: Participation, options: CampaignOptions, needed: int | None) -> AssignmentBatch:
    """The next try of the training; none while the worker has not gone on from the latest."""
    if finished_try(participation) is not None:
        return AssignmentBatch(assignments=[], why=_TRAINED)
    made = _assigned(participation, [(item, None) for item in next_items(participation)], options)
    if not made and not graded_items(participation.campaign).exists():
        # All that could be practiced is out of work, or has a warning that the worker wants none of.
        participation.stage = Participation.Stage.WORKING
        participation.save(update_fields=["stage"])
        made = _give(participation, options, needed)
    nothing = _AVOIDED_TRAINING if participation.avoids_warnings else _NOTHING_LEFT
    return AssignmentBatch(assignments=made, why="" if made else nothing)


def expire(campaign: Campaign) -> int:
    """Frees what is held by leases that ran out; says how many there were."""
    over = Assignment.objects.filter(state=_State.HELD, lease_until__lt=database_time())
    of_it = over.filter(item__campaign=campaign).order_by("lease_until")
    found = dict(of_it.values_list("pk", "item_id")[:_EXPIRED_AT_ONCE])
    if not found:
        return 0
    with transaction.atomic():
        # An item that somebody works with now is left to the next time.
        rows = Item.objects.select_for_update(skip_locked=True, no_key=True).filter(pk__in=found.values())
        items = list(rows.order_by("pk").values_list("pk", flat=True))
        number = over.filter(pk__in=found, item__in=items).update(state=_State.EXPIRED)
        settle(items, campaign)
    return number


def _taken_back(
    participation: Participation, options: CampaignOptions, needed: int | None
) -> list[Assignment]:
    """Return the held items of the worker's latest batch; an expired lease is renewed if there is a slot.

    Args:
        participation: The worker.
        options: The options of the campaign.
        needed: The number of answers that the session still needs; None without a session. A batch that was
            given out for an earlier session, or before the panel's number was lowered, may be larger.
    """
    mine = participation.assignments.filter(
        batch=participation.batch, state__in=(_State.HELD, _State.EXPIRED)
    )
    found = list(mine.select_related("item", "slot").order_by("place"))
    if not found:
        return []
    # Answers to the training are not among those that a session needs.
    most = len(found) if needed is None or found[0].item.is_training else needed
    held = [one for one in found if one.state == _State.HELD]
    lost = [one for one in found if one.state == _State.EXPIRED][: max(0, most - len(held))]
    if lost and participation.campaign.state in _GIVING:
        _take_again(participation, lost, database_time(), options)
    return [one for one in found if one.state == _State.HELD][:most]


def _take_again(
    participation: Participation, lost: list[Assignment], now: datetime, options: CampaignOptions
) -> None:
    items = {item.pk: item for item in lock_items(one.item_id for one in lost)}
    slots = first_free(items.values(), trusted=is_trusted(participation, options))
    for assignment in lost:
        item = items[assignment.item_id]
        slot = slots.get(item.pk)
        # What has no slot, a check or a trial, needs none.
        if item.held or (slot is None and assignment.slot_id is not None):
            continue
        if assignment.slot_id is not None:
            assignment.slot = slot
        assignment.state, assignment.opened = _State.HELD, now
        assignment.lease_until = now + timedelta(seconds=options.lease_seconds)
        assignment.save(update_fields=["slot", "state", "opened", "lease_until"])
    recount(items)


def _give(participation: Participation, options: CampaignOptions, needed: int | None) -> list[Assignment]:
    """A new batch, no larger than a session still needs; empty if there is no work for the worker."""
    size = options.batch if needed is None else min(options.batch, needed)
    trusted = is_trusted(participation, options)
    check = _check_due(participation, options)
    repeat = _repeat_due(participation, options) if size > (check is not None) else None
    uncounted = [item for item in (check, repeat) if item is not None]
    wanted = size - len(uncounted)
    chosen_only = options.next_pairs > 0
    items = _choose(participation, wanted, trusted=trusted, chosen_only=chosen_only) if wanted else []
    if wanted and not items:
        return []
    pilot = participation.campaign.state == Campaign.State.PILOT
    slots = {} if pilot else first_free(items, trusted=trusted)
    chosen: list[tuple[Item, Slot | None]] = [
        (item, slots.get(item.pk)) for item in items if pilot or item.pk in slots
    ]
    for item in uncounted:
        place = _drawn(options, participation, f"place {item.pk}") % (len(chosen) + 1)
        chosen.insert(place, (item, None))
    made = _assigned(participation, chosen, options)
    recount(item.pk for item in items)
    return made


def _assigned(
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
            mirrored=_mirrored(participation, item, slot, options),
            batch=participation.batch,
            place=place,
            opened=now,
        )
        for place, (item, slot) in enumerate(chosen, 1)
    ]
    return Assignment.objects.bulk_create(made)


def _mirrored(participation: Participation, item: Item, slot: Slot | None, options: CampaignOptions) -> bool:
    """Whether the sides are mirrored: in every other slot, so that each stands left in half of the votes."""
    if not task_named(participation.campaign.kind).has_sides:
        return False
    if item.repeats_id is not None:
        return not participation.assignments.get(item=item.repeats_id).mirrored
    number = _drawn(options, participation, item.key) if slot is None else slot.number
    return (number % 2 == 1) == item.mirrors_odd


def _choose(participation: Participation, number: int, *, trusted: bool, chosen_only: bool) -> list[Item]:
    """Items with a free slot that the worker never had, locked: those that lack the fewest answers first.

    Args:
        participation: The worker.
        number: How many at most.
        trusted: Whether the worker gets slots for trusted workers too.
        chosen_only: Whether others are given out only if they were chosen to come next.
    """
    names = ("free_trusted", "free") if trusted else ("free",)
    left = {name: candidates(participation, name) for name in names}
    if chosen_only:
        left["free"] = left["free"].filter(up_next=True)
    found: list[Item] = []
    for name in names:
        rows = left[name].exclude(pk__in=[item.pk for item in found])
        found += rows.select_for_update(skip_locked=True, no_key=True)[: number - len(found)]
    for name in names if not found else ():
        # All were locked by others at that moment: wait for one, as it may stay free.
        found = _awaited(left[name])
        if found:
            break
    return found


def _awaited(left: QuerySet[Item]) -> list[Item]:
    """The first of some items that is one of them still when its lock is had; none if there are none.

    Nothing stays locked of what was awaited in vain: it would be locked before items of lower keys.
    """
    while (first := left.values_list("pk", flat=True).first()) is not None:
        with transaction.atomic():
            found = list(left.filter(pk=first).select_for_update(no_key=True))
            if found:
                return found
            transaction.set_rollback(True)
    return []


def candidates(participation: Participation, name: str) -> QuerySet[Item]:
    """The items that a worker could be given, those that lack the fewest answers first.

    Args:
        participation: The worker.
        name: The slots that are free: `free`, or `free_trusted` for those of trusted workers alone.
    """
    had = Assignment.objects.filter(participation=participation, item=OuterRef("pk"))
    rows = Item.objects.filter(campaign=participation.campaign_id, **{f"{name}__gt": 0})
    # Read in the order of an index: nothing is sorted.
    return participation.unwarned(rows.filter(~Exists(had)).order_by(name, "rank"))


def _drawn(options: CampaignOptions, participation: Participation, what: object) -> int:
    """A number that follows from the campaign's seed, the worker and what it is for."""
    return drawn(options.seed, participation.pk, participation.batch, what)


def _is_due(participation: Participation, options: CampaignOptions, what: str, every: int) -> bool:
    """Whether it is time for what comes once in so many answers: in a drawn batch of each stretch."""
    if not every:
        return False
    stretch = max(every // options.batch, 2)
    number, place = divmod(participation.batch, stretch)
    # Never the first of a stretch, so that no two follow each other.
    return place == 1 + drawn(options.seed, participation.pk, number, what) % (stretch - 1)


def _check_due(participation: Participation, options: CampaignOptions) -> Item | None:
    """A check that the worker never had, if it is time for one."""
    if not _is_due(participation, options, "check", options.check_every) or _was_checked(participation):
        return None
    had = Assignment.objects.filter(participation=participation, item=OuterRef("pk"))
    checks = participation.campaign.items.filter(is_check=True, is_training=False, repeats=None, held=False)
    return participation.unwarned(checks.filter(~Exists(had)).order_by("rank")).first()


def _was_checked(participation: Participation) -> bool:
    """Return whether the latest batch had a check: `check_every` may have been changed since."""
    latest = participation.assignments.filter(batch=participation.batch, item__is_check=True)
    return latest.filter(item__is_training=False, item__repeats=None).exists()


def _repeat_due(participation: Participation, options: CampaignOptions) -> Item | None:
    """What shows again an item that the worker answered in an earlier batch, if it is time for it."""
    campaign = participation.campaign
    if not task_named(campaign.kind).has_sides or campaign.state == Campaign.State.PILOT:
        return None
    if not _is_due(participation, options, "repeat", options.repeat_every):
        return None
    again = Assignment.objects.filter(participation=participation, item__repeats=OuterRef("item"))
    # What is fresh in memory says nothing: not of the batch that just ended. Checks and trials have no slot.
    answered = participation.assignments.filter(
        state=_State.SUBMITTED, slot__isnull=False, item__held=False, batch__lt=participation.batch
    )
    earlier = answered.filter(~Exists(again)).order_by("pk").values_list("item", flat=True)
    number = earlier.count()
    if not number:
        return None
    first = Item.objects.filter(pk=earlier[_drawn(options, participation, "repeat") % number])
    found = participation.unwarned(first).first()
    repeat = None if found is None else _repeat_of(found)
    return None if repeat is None or repeat.held else repeat


def _repeat_of(item: Item) -> Item:
    """The item that is another again, made where no worker had it before."""
    names = ("key", "group", "category", "image_id", "payload", "rank", "mirrors_odd")
    same = {name: getattr(item, name) for name in names}
    made, _ = Item.objects.get_or_create(
        repeats=item, defaults={**same, "campaign_id": item.campaign_id, "is_check": True}
    )
    return made


def renew(participation: Participation) -> None:
    """Renew the leases of all items that an active worker holds."""
    with transaction.atomic():
        _renew(lock_participation(participation))


def _renew(participation: Participation) -> None:
    renew_leases(participation, options_of(participation.campaign), database_time())


def renew_leases(participation: Participation, options: CampaignOptions, now: datetime) -> None:
    """Renew the leases of all items that a worker holds, whose participation is locked.

    Activity keeps an item for at most `longest_lease_seconds` after it was given out. No renewal shortens a
    lease.
    """
    held = participation.assignments.filter(state=_State.HELD)
    # A row that is locked is being taken back by somebody else. Nobody waits for it here: transactions that
    # wait for each other's rows end in a deadlock.
    free = held.select_for_update(skip_locked=True, no_key=True).values("pk")
    longest = ExpressionWrapper(
        F("opened") + Value(timedelta(seconds=options.longest_lease_seconds)),
        output_field=DateTimeField(),
    )
    until = now + timedelta(seconds=options.lease_seconds)
    renewed = Greatest(F("lease_until"), Least(Value(until), longest))
    Assignment.objects.filter(pk__in=free, state=_State.HELD).update(lease_until=renewed)


def save_draft(assignment: Assignment, content: dict[str, object]) -> None:
    """Store the text that a worker has typed so far, and renew the leases of the batch."""
    with transaction.atomic():
        participation = lock_participation(assignment.participation)
        check_here(participation)
        now = Assignment.objects.get(pk=assignment.pk)
        if now.state not in (_State.SUBMITTED, _State.SKIPPED, _State.REPORTED):
            Draft.objects.update_or_create(
                assignment=now, defaults={"content": content, "saved": database_time()}
            )
        _renew(participation)


def set_aside(assignment: Assignment, state: str, reason: str = "") -> None:
    """Skips an assignment, or returns it: its slot is free for others.

    Args:
        assignment: The worker's assignment.
        state: Skipped or returned.
        reason: Why, if the worker says so.

    Raises:
        AssignmentError: It is answered, or set aside already in another way.
    """
    with transaction.atomic():
        participation = lock_participation(assignment.participation)
        check_here(participation)
        lock_items([assignment.item_id])
        now = Assignment.objects.get(pk=assignment.pk)
        if now.state == state:
            return
        _end(now, state, reason)
        settle([assignment.item_id], participation.campaign)
        # Whoever returns an item stops working.
        if state == _State.SKIPPED:
            _renew(participation)


def _end(assignment: Assignment, state: str, reason: str = "") -> None:
    if assignment.state not in (_State.HELD, _State.EXPIRED):
        raise AssignmentError(f"this item is {assignment.state} already")
    assignment.state, assignment.reason = state, reason
    assignment.save(update_fields=["state", "reason"])
    Draft.objects.filter(assignment=assignment).delete()


def report(assignment: Assignment, reason: str, note: str = "") -> Report:
    """Reports an item in place of answering it; enough reports take the item out of work.

    Raises:
        AssignmentError: It is answered, or set aside already.
    """
    with transaction.atomic():
        participation = lock_participation(assignment.participation)
        check_here(participation)
        (item,) = lock_items([assignment.item_id])
        now = Assignment.objects.get(pk=assignment.pk)
        known = Report.objects.filter(assignment=now).first()
        if known is not None:
            return known
        _end(now, _State.REPORTED)
        made = Report.objects.create(
            assignment=now, item=item, reason=reason, note=note, time=database_time()
        )
        options = options_of(participation.campaign)
        if not item.held and item.reports.count() >= options.reports_to_hold:
            item.held, item.held_reason = True, f"{options.reports_to_hold} workers reported it"
            item.save(update_fields=["held", "held_reason"])
            _pull(Assignment.objects.filter(item=item, state=_State.HELD))
        settle([item.pk], participation.campaign)
        _renew(participation)
    return made


def pull(campaign: Campaign, assignments: QuerySet[Assignment]) -> None:
    """Takes back what workers of a campaign hold. The caller has locked their participations."""
    items = sorted(set(assignments.filter(state=_State.HELD).values_list("item_id", flat=True)))
    lock_items(items)
    _pull(assignments.filter(state=_State.HELD))
    settle(items, campaign)


def _pull(assignments: QuerySet[Assignment]) -> None:
    assignments.update(state=_State.PULLED)
