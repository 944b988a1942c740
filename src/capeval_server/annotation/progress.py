"""How far a campaign is, and why it does not get further."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from capeval_server.annotation.campaigns import items_of
from capeval_server.annotation.models import Assignment, Campaign, Participation, Slot
from capeval_server.annotation.options import Options, options_of
from capeval_server.annotation.quality import queue
from capeval_server.annotation.trust import is_trusted

__all__ = ["Progress", "progress_of"]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a campaign is.

    Attributes:
        state: Its state.
        items: How many items it has, without checks.
        finished: How many of them have all answers that they need.
        wanted: How many answers count in the end.
        counted: How many count now.
        held: How many slots are held by workers now.
        workers: How many workers agreed to take part.
        trusted: How many of them are trusted.
        to_review: How many answers wait for a review.
        reported: How many items are out of work, as they were reported.
        waiting: Why what is left is not being worked on, in sentences.
    """

    state: str
    items: int
    finished: int
    wanted: int
    counted: int
    held: int
    workers: int
    trusted: int
    to_review: int
    reported: int
    waiting: tuple[str, ...]


def progress_of(campaign: Campaign) -> Progress:
    """How far a campaign is."""
    options = options_of(campaign)
    items = items_of(campaign)
    slots = Slot.objects.filter(item__campaign=campaign, closed=False)
    numbers = slots.aggregate(counted=Count("filled_by"), wanted=Count("pk"))
    unfinished = slots.filter(filled_by=None).values("item").distinct().count()
    workers = [one for one in campaign.participations.all() if one.stage != Participation.Stage.INVITED]
    trusted = [one for one in workers if _works(one) and is_trusted(one, options)]
    number = items.count()
    return Progress(
        state=campaign.state,
        items=number,
        finished=number - unfinished,
        wanted=numbers["wanted"],
        counted=numbers["counted"],
        held=Assignment.objects.filter(item__campaign=campaign, state=Assignment.State.HELD).count(),
        workers=len(workers),
        trusted=len(trusted),
        to_review=queue(campaign).count(),
        reported=items.filter(held=True).count(),
        waiting=tuple(_waiting(campaign, options, [one for one in workers if _works(one)], trusted)),
    )


def _works(participation: Participation) -> bool:
    return participation.stage == Participation.Stage.WORKING


def _waiting(
    campaign: Campaign, options: Options, workers: list[Participation], trusted: list[Participation]
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
        reasons.append(f"{found['reported']:,} items are out of work, as they were reported.")
    if found["for_trusted"] and not any(_can_fill(one, "free_trusted") for one in trusted):
        reasons.append(
            f"{found['for_trusted']:,} answers wait for a trusted worker who has not had the item: one with"
            f" at least {options.trust_answers} judged answers, {options.trust_share:.0%} of them fine."
        )
    if found["free"] and not any(_can_fill(one, "free") for one in workers):
        reasons.append(f"{found['free']:,} items need answers of more workers: all have had them.")
    return reasons


def _can_fill(participation: Participation, name: str) -> bool:
    """Whether a worker can be given one of the items with a free slot."""
    had = participation.assignments.values("item")
    left = items_of(participation.campaign).filter(**{f"{name}__gt": 0})
    return left.exclude(pk__in=had).exists()
