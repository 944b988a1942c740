"""What a campaign takes and will show: answers, days, cost; an interval, the smallest difference."""

from __future__ import annotations

from dataclasses import dataclass

from capeval.errors import MismatchError
from capeval.studies.effort import Agreement, Forecast, Prices, estimated_agreement, forecast
from capeval_server.annotation.campaigns import items_of
from capeval_server.annotation.models import Campaign, Response, Slot
from capeval_server.annotation.options import options_of

__all__ = ["SHARES", "Effort", "effort_of", "measured_agreement"]

SHARES = {
    "triplet": ("first",),
    "pairwise": ("first",),
    "m1": ("better", "equal"),
    "m2": ("person",),
    "m5": ("yes",),
}
"""The answers that count as yes, of the kinds of task whose result is a share of items."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What a campaign takes.

    Attributes:
        wanted: How many answers count in the end.
        to_go: How many of them are missing.
        given: How many answers were given, whether they count or not: all are paid.
        hours: How long all wanted answers take people, together.
        days: How many days that takes.
        cost: What is paid for them.
        days_to_go: How many days the missing ones take.
        cost_to_go: What is paid for the missing ones.
        cost_so_far: What the answers so far cost.
        systems: How many systems are judged; 1 where items name none.
        forecast: What the result will show; None for kinds whose result is no share.
    """

    wanted: int
    to_go: int
    given: int
    hours: float
    days: float
    cost: float
    days_to_go: float
    cost_to_go: float
    cost_so_far: float
    systems: int
    forecast: Forecast | None


def effort_of(campaign: Campaign, prices: Prices, agreement: Agreement) -> Effort:
    """What a campaign takes and will show.

    Args:
        campaign: The campaign.
        prices: What answers take.
        agreement: How people differ; of kinds whose result is a share.
    """
    slots = Slot.objects.filter(item__campaign=campaign, closed=False)
    wanted, to_go = slots.count(), slots.filter(filled_by=None).count()
    given = Response.objects.filter(item__campaign=campaign, revision=1).count()
    hours = prices.seconds / 3600
    daily = prices.workers * prices.hours
    cost = hours * prices.hourly * (1 + prices.fee)
    items = items_of(campaign)
    systems = max(items.exclude(payload__system=None).values("payload__system").distinct().count(), 1)
    return Effort(
        wanted=wanted,
        to_go=to_go,
        given=given,
        hours=wanted * hours,
        days=wanted * hours / daily,
        cost=wanted * cost,
        days_to_go=to_go * hours / daily,
        cost_to_go=to_go * cost,
        cost_so_far=given * cost,
        systems=systems,
        forecast=forecast(
            images=max(items.count() // systems, 1),
            votes=options_of(campaign).answers,
            agreement=agreement,
            prices=prices,
            systems=systems,
        )
        if campaign.kind in SHARES
        else None,
    )


def measured_agreement(campaign: Campaign) -> Agreement | None:
    """How people differ, from the campaign's answers, those of a trial too; None where they can't say it."""
    if campaign.kind not in SHARES:
        return None
    rows = Response.objects.filter(item__campaign=campaign, item__is_check=False, redacted="")
    newest: dict[int, tuple[int, str]] = {}
    for key, item, answer in rows.order_by("revision").values_list("assignment_id", "item_id", "answer"):
        newest[key] = item, answer["choice"]
    votes: dict[int, list[int]] = {}
    for item, choice in newest.values():
        votes.setdefault(item, []).append(int(choice in SHARES[campaign.kind]))
    try:
        return estimated_agreement(list(votes.values()))
    except MismatchError:
        return None
