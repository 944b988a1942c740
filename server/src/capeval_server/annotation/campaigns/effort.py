"""What a campaign takes and will show: answers, days, cost; an interval, the smallest difference."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db.models.fields.json import KT

from capeval.errors import MismatchError
from capeval.studies.effort import Agreement, EffortOptions, Forecast, Prices, estimated_agreement, forecast
from capeval.studies.plan import winners
from capeval_server.annotation.campaigns.lifecycle import items_of
from capeval_server.annotation.core.options import CampaignOptions, options_of
from capeval_server.annotation.models import Campaign, Response, Slot
from capeval_server.annotation.task_types import task_named

__all__ = ["Effort", "effort_of", "ends_by_pair", "measured_agreement"]


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
        forecast=_forecast(campaign, prices, agreement, systems)
        if task_named(campaign.kind).result.yes
        else None,
    )


def _forecast(campaign: Campaign, prices: Prices, agreement: Agreement, systems: int) -> Forecast:
    options = options_of(campaign)
    rows = items_of(campaign).values_list("group", "pk")
    items = len(rows)
    # Where pairs end, each of their votes may take several answers.
    by_pair = ends_by_pair(campaign, options)
    each = options.answers if by_pair else 1
    questions = max(len({group or key for group, key in rows}) if by_pair else items // systems, 1)
    said = forecast(
        images=questions,
        agreement=agreement,
        prices=replace(prices, seconds=prices.seconds * each),
        options=EffortOptions(
            systems=systems,
            votes=max(round(items / questions), 1) if by_pair else options.answers,
            # A triplet that is decided sooner takes fewer answers; how many, pairs don't say.
            curtail=options.curtail and not by_pair,
            confidence=options.confidence or None,
            least=options.confidence_votes if options.confidence else None,
        ),
    )
    return replace(said, answers=said.answers * each, most_answers=said.most_answers * each)


def ends_by_pair(campaign: Campaign, options: CampaignOptions) -> bool:
    """Whether pairs end, each of whose votes is the majority of the answers to an item."""
    return options.confidence > 0 and task_named(campaign.kind).votes_once


def measured_agreement(campaign: Campaign) -> Agreement | None:
    """How people differ, from the campaign's answers, those of a trial too; None where they can't say it.

    On each item; where pairs end by the votes of their items, on each pair.
    """
    task = task_named(campaign.kind)
    if not task.result.yes:
        return None
    (question,) = task.choices
    rows = Response.objects.filter(item__campaign=campaign, item__is_check=False, redacted="")
    newest: dict[int, tuple[int, str]] = {}
    chosen = KT(f"answer__{question}")
    for key, item, choice in rows.order_by("revision").values_list("assignment_id", "item_id", chosen):
        newest[key] = item, choice
    votes: dict[int, list[int]] = {}
    for item, choice in newest.values():
        votes.setdefault(item, []).append(int(choice in task.result.yes))
    if ends_by_pair(campaign, options_of(campaign)):
        votes = _of_pairs(campaign, votes)
    try:
        return estimated_agreement(list(votes.values()))
    except MismatchError:
        return None


def _of_pairs(campaign: Campaign, votes: dict[int, list[int]]) -> dict[int, list[int]]:
    """The majority of each item's answers, 1 or 0, by pair; an item whose answers are tied has none."""
    of_pairs: dict[str | int, list[int]] = {}
    for key, group in items_of(campaign).filter(pk__in=votes).values_list("pk", "group"):
        (winner,) = winners([[2 * vote - 1 for vote in votes[key]]]).tolist()
        if winner:
            of_pairs.setdefault(group or key, []).append(int(winner > 0))
    return dict(enumerate(of_pairs.values()))
