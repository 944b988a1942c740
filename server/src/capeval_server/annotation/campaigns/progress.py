"""Progress and pace of a campaign, and the reasons for missing progress."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil
from statistics import median
from typing import Literal

from django.db.models import Count, DateField, Func, Q, QuerySet, Sum

from capeval_server.annotation.campaigns.lifecycle import items_of, unfinished
from capeval_server.annotation.core.options import CampaignOptions, get_options
from capeval_server.annotation.core.slots import count_slots
from capeval_server.annotation.models import Assignment, Campaign, Item, Participation, Response, Slot
from capeval_server.annotation.responses.assignment import list_candidates
from capeval_server.annotation.review.moderation import list_review_queue
from capeval_server.annotation.workers.trust import is_trusted, may_replace
from capeval_server.jobs.leases import database_time

__all__ = [
    "FEWEST_TO_FORECAST",
    "PACE_DAYS",
    "CampaignProgress",
    "ClassProgress",
    "ItemFilter",
    "Pace",
    "classes_of",
    "filter_items",
    "get_progress",
    "items_with_counts",
    "pace_of",
    "with_counts",
]

PACE_DAYS = 7
"""Number of days from which the pace of a campaign is measured."""

FEWEST_TO_FORECAST = 10
"""Minimum number of recent answers for a forecast."""

ItemFilter = Literal["unfinished", "reported", "checks", "training", "repeats"]
"""Selection of items: lacking answers, on hold, attention checks, training, or repeated and mirrored."""

# Number of latest answers from which the median time is computed.
_TIMED = 1000
_DAY_HOURS = 24
# The database computes the day in UTC: Django's own function calls Python for each row on SQLite.
_DAY = Func("received", function="DATE", output_field=DateField())


@dataclass(frozen=True, kw_only=True)
class CampaignProgress:
    """Progress of a campaign.

    Attributes:
        state: State of the campaign.
        items: Number of items, without checks.
        finished: Number of items that have all required answers.
        ended: Number of finished items that ended early, because they or their pairs are decided.
        wanted: Number of required answers.
        counted: Number of counted answers.
        held: Number of slots held by workers now.
        workers: Number of workers who agreed to take part.
        trusted: Number of trusted workers.
        to_review: Number of answers that wait for a review.
        reported: Number of items on hold, by reports or by an organizer.
        checks_out: Number of checks on hold, by failures of reliable workers or by an organizer.
        waiting: Reasons why the remaining items are not being answered, as sentences.
    """

    state: str
    items: int
    finished: int
    ended: int
    wanted: int
    counted: int
    held: int
    workers: int
    trusted: int
    to_review: int
    reported: int
    checks_out: int
    waiting: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ClassProgress:
    """Progress of the items of a class; `name` is empty for items without a class."""

    name: str
    items: int
    wanted: int
    counted: int


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Pace of a campaign.

    Attributes:
        days: Number of counted answers of each day, in order; days without answers are omitted.
        to_go: Number of missing answers.
        recent: Number of counted answers in the last `PACE_DAYS` days.
        recent_hours: Hours since the first of these, rounded up; rounded up to whole days from one day on.
        days_left: Days until completion at this pace; None if there are too few recent answers, or if less
            than a day of answers would be extrapolated to more than a day.
        seconds: Median time of an answer in seconds, including preview answers and checks, but not training;
            None if no time was measured.
        timed: Number of latest answers from which the median is computed.
    """

    days: tuple[tuple[date, int], ...]
    to_go: int
    recent: int
    recent_hours: int
    days_left: float | None
    seconds: float | None
    timed: int


def with_counts(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """Annotate campaigns with counted and required answers; sort by age, newest first."""
    slots = Count("items__slots", filter=Q(items__slots__closed=False))
    counted = campaigns.annotate(wanted=slots, counted=Count("items__slots__filled_by"))
    return counted.select_related("challenge").order_by("-created", "-pk")


def classes_of(campaign: Campaign) -> list[ClassProgress]:
    """Return the progress of each class of a campaign's items."""
    slots = Slot.objects.filter(item__campaign=campaign, closed=False).order_by("item__category")
    counts = (Count("item", distinct=True), Count("pk"), Count("filled_by"))
    return [
        ClassProgress(name=name, items=items, wanted=wanted, counted=counted)
        for name, items, wanted, counted in slots.values("item__category").values_list(
            "item__category", *counts
        )
    ]


def items_with_counts(campaign: Campaign) -> QuerySet[Item]:
    """Annotate all items, including checks, with counted and required answers."""
    # Subqueries per item, so that only the items of the requested page are counted.
    counted, wanted = Slot.objects.exclude(filled_by=None), Slot.objects.filter(closed=False)
    return campaign.items.annotate(counted=count_slots(counted), wanted=count_slots(wanted)).order_by("pk")


def filter_items(campaign: Campaign, which: ItemFilter | Literal[""] = "") -> QuerySet[Item]:
    """Return selected items of a campaign, as `items_with_counts`.

    Args:
        campaign: The campaign.
        which: The selection; "" for all items except repeated ones.
    """
    rows = items_with_counts(campaign)
    if which == "repeats":
        return rows.filter(repeats__isnull=False)
    rows = rows.filter(repeats=None)
    if which == "unfinished":
        return rows.filter(pk__in=unfinished(campaign))
    if which == "reported":
        return rows.filter(held=True)
    if which == "checks":
        return rows.filter(is_check=True, is_training=False)
    return rows.filter(is_training=True) if which == "training" else rows


def pace_of(campaign: Campaign) -> Pace:
    """Return the pace of a campaign, with the forecast of its completion."""
    slots = Slot.objects.filter(item__campaign=campaign, closed=False)
    to_go = slots.filter(filled_by=None).count()
    counted = Response.objects.filter(item__campaign=campaign, filled_slot__isnull=False)
    by_day = counted.annotate(day=_DAY).values_list("day").order_by("day")
    recent, hours = _count_recent(counted)
    work = Response.objects.filter(item__campaign=campaign, item__is_training=False)
    timed = work.filter(events__has_key="seconds").order_by("-pk")
    seconds = [events["seconds"] for events in timed.values_list("events", flat=True)[:_TIMED]]
    return Pace(
        days=tuple(by_day.annotate(number=Count("pk"))),
        to_go=to_go,
        recent=recent,
        recent_hours=hours,
        days_left=_estimate_days_left(to_go, recent, hours),
        seconds=float(median(seconds)) if seconds else None,
        timed=len(seconds),
    )


def _count_recent(counted: QuerySet[Response]) -> tuple[int, int]:
    """Return the number of recent answers, and the hours since the first of them."""
    now = database_time()
    late = counted.filter(received__gt=now - timedelta(days=PACE_DAYS))
    first = late.order_by("received").values_list("received", flat=True).first()
    if first is None:
        return 0, 0
    hours = max(ceil((now - first) / timedelta(hours=1)), 1)
    return late.count(), hours if hours < _DAY_HOURS else _DAY_HOURS * ceil(hours / _DAY_HOURS)


def _estimate_days_left(to_go: int, recent: int, hours: int) -> float | None:
    if recent < FEWEST_TO_FORECAST:
        return None
    days = to_go * hours / recent / _DAY_HOURS
    # People don't work at the same rate around the clock.
    return days if hours >= _DAY_HOURS or days <= 1 else None


def get_progress(campaign: Campaign) -> CampaignProgress:
    """Return the progress of a campaign."""
    options = get_options(campaign)
    items = items_of(campaign)
    slots = Slot.objects.filter(item__campaign=campaign, closed=False)
    numbers = slots.aggregate(counted=Count("filled_by"), wanted=Count("pk"))
    unfinished = slots.filter(filled_by=None).values("item").distinct().count()
    workers = [one for one in campaign.participations.all() if one.stage != Participation.Stage.INVITED]
    working = [one for one in workers if _is_working(one)]
    replacing = [one for one in working if may_replace(one, options)]
    number = items.count()
    return CampaignProgress(
        state=campaign.state,
        items=number,
        finished=number - unfinished,
        ended=_count_ended(campaign, options),
        wanted=numbers["wanted"],
        counted=numbers["counted"],
        held=Assignment.objects.filter(item__campaign=campaign, state=Assignment.State.HELD).count(),
        workers=len(workers),
        trusted=sum(is_trusted(one, options) for one in working),
        to_review=list_review_queue(campaign).count(),
        reported=items.filter(held=True).count(),
        checks_out=_count_held_checks(campaign),
        waiting=tuple(_explain_waiting(campaign, options, working, replacing)),
    )


def _count_ended(campaign: Campaign, options: CampaignOptions) -> int:
    if not (options.curtail or options.confidence):
        return 0
    slots = Count("slots", filter=Q(slots__closed=False))
    ended = items_of(campaign).exclude(pk__in=unfinished(campaign).values("pk"))
    return ended.alias(given=slots).filter(given__lt=options.answers).count()


def _count_held_checks(campaign: Campaign) -> int:
    return campaign.items.filter(is_check=True, is_training=False, repeats=None, held=True).count()


def _is_working(participation: Participation) -> bool:
    return participation.stage == Participation.Stage.WORKING


def _list_entered(campaign: Campaign) -> QuerySet[Participation]:
    return campaign.participations.exclude(stage=Participation.Stage.INVITED)


def _explain_waiting(
    campaign: Campaign, options: CampaignOptions, workers: list[Participation], replacing: list[Participation]
) -> list[str]:
    """Return the reasons why no worker can be assigned the remaining items.

    The list is empty if a worker can.
    """
    found = items_of(campaign).aggregate(
        free=Count("pk", filter=Q(free__gt=0)),
        for_trusted=Sum("free_trusted"),
        reported=Count("pk", filter=Q(held=True)),
    )
    reasons = []
    paused = campaign.participations.filter(stage=Participation.Stage.PAUSED).count()
    if paused:
        reasons.append(f"Workers paused for failed checks until their answers are reviewed: {paused:,}.")
    if found["reported"]:
        reasons.append(f"Items on hold after reports or by an organizer: {found['reported']:,}.")
    checks = _count_held_checks(campaign)
    if checks:
        reasons.append(f"Checks on hold, for the reasons in the list of items: {checks:,}.")
    if found["for_trusted"] and not any(list_candidates(one, "free_trusted").exists() for one in replacing):
        reasons.append(
            f"Answers that wait for a trusted worker who has not had the item: {found['for_trusted']:,}. A"
            f" trusted worker has at least {options.trust_answers} judged answers, {options.trust_share:.0%}"
            " of them accepted. To let any worker replace the answers, set reopened_for to everybody in the"
            " quality settings."
        )
    if found["free"] and not campaign.participations.exists():
        reasons.append("No workers yet: create invite links, or recruit workers.")
    elif found["free"] and not _list_entered(campaign).exists():
        invited = campaign.participations.count()
        reasons.append(f"No workers yet. People who have not agreed to take part: {invited:,}.")
    elif found["free"] and not workers:
        reasons.append(f"Items that need answers, while no worker can be assigned any: {found['free']:,}.")
    elif found["free"] and not any(list_candidates(one, "free").exists() for one in workers):
        avoided = any(one.avoids_warnings for one in workers)
        why = "all workers have had them" + (", or avoid images with warnings" if avoided else "")
        reasons.append(f"Items that need answers from more workers: {found['free']:,} ({why}).")
    return reasons
