"""How far a campaign is, and why it does not get further."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil
from statistics import median

from django.db.models import Count, DateField, Func, Q, QuerySet, Sum

from capeval_server.annotation.campaigns.lifecycle import items_of, unfinished
from capeval_server.annotation.core.options import CampaignOptions, options_of
from capeval_server.annotation.core.slots import number_of
from capeval_server.annotation.models import Assignment, Campaign, Item, Participation, Response, Slot
from capeval_server.annotation.responses.assignment import candidates
from capeval_server.annotation.review.moderation import queue
from capeval_server.annotation.workers.trust import is_trusted
from capeval_server.jobs.leases import database_time

__all__ = [
    "FEWEST_TO_FORECAST",
    "PACE_DAYS",
    "CampaignProgress",
    "ClassProgress",
    "Pace",
    "classes_of",
    "items_with_counts",
    "pace_of",
    "progress_of",
    "with_counts",
]

PACE_DAYS = 7
"""How many days of answers the pace of a campaign is measured on."""

FEWEST_TO_FORECAST = 10
"""The fewest recent answers that a forecast is based on."""

# Of how many answers, the latest, the time is measured.
_TIMED = 1000
_DAY_HOURS = 24
# The day in UTC, by the database itself: Django's way calls Python for each row on SQLite.
_DAY = Func("received", function="DATE", output_field=DateField())


@dataclass(frozen=True, kw_only=True)
class CampaignProgress:
    """How far a campaign is.

    Attributes:
        state: Its state.
        items: How many items it has, without checks.
        finished: How many of them have all answers that they need.
        ended: How many of these have ended before all answers were given, as they or their pairs are decided.
        wanted: How many answers count in the end.
        counted: How many count now.
        held: How many slots are held by workers now.
        workers: How many workers agreed to take part.
        trusted: How many of them are trusted.
        to_review: How many answers wait for a review.
        reported: How many items are out of work, as they were reported or taken out.
        checks_out: How many checks are out of work, as good workers failed them or they were taken out.
        waiting: Why what is left is not being worked on, in sentences.
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
    """How far the items of a class are; `name` is empty for those without one."""

    name: str
    items: int
    wanted: int
    counted: int


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How fast a campaign goes.

    Attributes:
        days: How many of the answers that count came on each day, the earliest first; days without any are
            left out.
        to_go: How many answers are still wanted.
        recent: How many answers that count came in the last days.
        recent_hours: The whole hours since the first of these; whole days from one day on.
        days_left: How long the rest takes at that rate; None where recent answers are too few, or where less
            than a day of answers would be extrapolated to more than a day.
        seconds: The median time of an answer, trials and checks among them, training not; None if none was
            measured.
        timed: Of how many answers, the latest, that is the median.
    """

    days: tuple[tuple[date, int], ...]
    to_go: int
    recent: int
    recent_hours: int
    days_left: float | None
    seconds: float | None
    timed: int


def with_counts(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """Campaigns with how many answers count and are wanted, the newest first."""
    slots = Count("items__slots", filter=Q(items__slots__closed=False))
    counted = campaigns.annotate(wanted=slots, counted=Count("items__slots__filled_by"))
    return counted.select_related("challenge").order_by("-created", "-pk")


def classes_of(campaign: Campaign) -> list[ClassProgress]:
    """How far each class of a campaign's items is."""
    slots = Slot.objects.filter(item__campaign=campaign, closed=False).order_by("item__category")
    counts = (Count("item", distinct=True), Count("pk"), Count("filled_by"))
    return [
        ClassProgress(name=name, items=items, wanted=wanted, counted=counted)
        for name, items, wanted, counted in slots.values("item__category").values_list(
            "item__category", *counts
        )
    ]


def items_with_counts(campaign: Campaign) -> QuerySet[Item]:
    """The items of a campaign, checks too, with how many of their answers count and are wanted."""
    # Item by item, so that those of a page are counted and no others.
    counted, wanted = Slot.objects.exclude(filled_by=None), Slot.objects.filter(closed=False)
    return campaign.items.annotate(counted=number_of(counted), wanted=number_of(wanted)).order_by("pk")


def pace_of(campaign: Campaign) -> Pace:
    """How fast a campaign goes, and when it ends if that goes on."""
    slots = Slot.objects.filter(item__campaign=campaign, closed=False)
    to_go = slots.filter(filled_by=None).count()
    counted = Response.objects.filter(item__campaign=campaign, filled_slot__isnull=False)
    by_day = counted.annotate(day=_DAY).values_list("day").order_by("day")
    recent, hours = _recent(counted)
    work = Response.objects.filter(item__campaign=campaign, item__is_training=False)
    timed = work.filter(events__has_key="seconds").order_by("-pk")
    seconds = [events["seconds"] for events in timed.values_list("events", flat=True)[:_TIMED]]
    return Pace(
        days=tuple(by_day.annotate(number=Count("pk"))),
        to_go=to_go,
        recent=recent,
        recent_hours=hours,
        days_left=_days_left(to_go, recent, hours),
        seconds=float(median(seconds)) if seconds else None,
        timed=len(seconds),
    )


def _recent(counted: QuerySet[Response]) -> tuple[int, int]:
    """Return the number of answers of the last days, and the hours since the first of them."""
    now = database_time()
    late = counted.filter(received__gt=now - timedelta(days=PACE_DAYS))
    first = late.order_by("received").values_list("received", flat=True).first()
    if first is None:
        return 0, 0
    hours = max(ceil((now - first) / timedelta(hours=1)), 1)
    return late.count(), hours if hours < _DAY_HOURS else _DAY_HOURS * ceil(hours / _DAY_HOURS)


def _days_left(to_go: int, recent: int, hours: int) -> float | None:
    if recent < FEWEST_TO_FORECAST:
        return None
    days = to_go * hours / recent / _DAY_HOURS
    # People don't work at the same rate around the clock.
    return days if hours >= _DAY_HOURS or days <= 1 else None


def progress_of(campaign: Campaign) -> CampaignProgress:
    """How far a campaign is."""
    options = options_of(campaign)
    items = items_of(campaign)
    slots = Slot.objects.filter(item__campaign=campaign, closed=False)
    numbers = slots.aggregate(counted=Count("filled_by"), wanted=Count("pk"))
    unfinished = slots.filter(filled_by=None).values("item").distinct().count()
    workers = [one for one in campaign.participations.all() if one.stage != Participation.Stage.INVITED]
    trusted = [one for one in workers if _works(one) and is_trusted(one, options)]
    number = items.count()
    return CampaignProgress(
        state=campaign.state,
        items=number,
        finished=number - unfinished,
        ended=_ended(campaign, options),
        wanted=numbers["wanted"],
        counted=numbers["counted"],
        held=Assignment.objects.filter(item__campaign=campaign, state=Assignment.State.HELD).count(),
        workers=len(workers),
        trusted=len(trusted),
        to_review=queue(campaign).count(),
        reported=items.filter(held=True).count(),
        checks_out=_checks_out(campaign),
        waiting=tuple(_waiting(campaign, options, [one for one in workers if _works(one)], trusted)),
    )


def _ended(campaign: Campaign, options: CampaignOptions) -> int:
    if not (options.curtail or options.confidence):
        return 0
    slots = Count("slots", filter=Q(slots__closed=False))
    ended = items_of(campaign).exclude(pk__in=unfinished(campaign).values("pk"))
    return ended.alias(given=slots).filter(given__lt=options.answers).count()


def _checks_out(campaign: Campaign) -> int:
    return campaign.items.filter(is_check=True, is_training=False, repeats=None, held=True).count()


def _works(participation: Participation) -> bool:
    return participation.stage == Participation.Stage.WORKING


def _waiting(
    campaign: Campaign, options: CampaignOptions, workers: list[Participation], trusted: list[Participation]
) -> list[str]:
    """Why nobody works on what is left; nothing where somebody can."""
    found = items_of(campaign).aggregate(
        free=Count("pk", filter=Q(free__gt=0)),
        for_trusted=Sum("free_trusted"),
        reported=Count("pk", filter=Q(held=True)),
    )
    reasons = []
    paused = campaign.participations.filter(stage=Participation.Stage.PAUSED).count()
    if paused:
        reasons.append(f"{paused:,} workers are paused, as they failed checks, until somebody looks.")
    if found["reported"]:
        reasons.append(f"{found['reported']:,} items are out of work, as they were reported or taken out.")
    checks = _checks_out(campaign)
    if checks:
        reasons.append(f"{checks:,} checks are out of work: among the items, each says why.")
    if found["for_trusted"] and not any(candidates(one, "free_trusted").exists() for one in trusted):
        reasons.append(
            f"{found['for_trusted']:,} answers wait for a trusted worker who has not had the item: one with"
            f" at least {options.trust_answers} judged answers, {options.trust_share:.0%} of them fine."
            " Set reopened_for to everybody in the quality settings to give them to any worker."
        )
    if found["free"] and not workers:
        reasons.append(f"{found['free']:,} items need answers, and no worker can be given any now.")
    elif found["free"] and not any(candidates(one, "free").exists() for one in workers):
        avoided = any(one.avoids_warnings for one in workers)
        why = "all have had them" + (", or want no images with warnings" if avoided else "")
        reasons.append(f"{found['free']:,} items need answers of more workers: {why}.")
    return reasons
