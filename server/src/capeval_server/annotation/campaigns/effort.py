"""Forecast of a campaign: answers, days, cost, intervals, detectable difference."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db.models.fields.json import KT

from capeval.errors import MismatchError
from capeval.studies.effort import Agreement, EffortOptions, Forecast, Prices, estimated_agreement, forecast
from capeval.studies.plan import winners
from capeval_server.annotation.campaigns.lifecycle import items_of
from capeval_server.annotation.campaigns.progress import pace_of
from capeval_server.annotation.core.options import CampaignOptions, get_options
from capeval_server.annotation.models import Campaign, Response, Slot
from capeval_server.annotation.task_types import task_named

__all__ = ["Effort", "default_prices", "ends_by_pair", "estimate_effort", "measured_agreement"]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """The effort and the cost of a campaign, and the precision of its results.

    Attributes:
        wanted: Total number of required answers.
        to_go: Number of missing answers.
        given: Number of answers so far, counted or not; all are paid.
        hours: Total working time for all required answers, in hours.
        days: Duration of all required answers, in days.
        cost: Cost of all required answers.
        days_to_go: Duration of the missing answers, in days.
        cost_to_go: Cost of the missing answers.
        cost_so_far: Cost of the answers so far.
        systems: Number of judged systems; 1 if items don't name a system.
        forecast: Forecast of the precision of the result; None for task types whose result is not a share.
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


def default_prices(campaign: Campaign) -> Prices:
    """Return the time and price of answers: as measured and set, or the usual ones of the task type."""
    measured, rate = pace_of(campaign).seconds, float(get_options(campaign).pay_per_answer or 0)
    seconds = max(round(measured, 1), 0.1) if measured else task_named(campaign.kind).seconds
    prices = Prices(seconds=seconds)
    return replace(prices, hourly=max(round(rate * 3600 / seconds, 2), 0.01)) if rate else prices


def estimate_effort(campaign: Campaign, prices: Prices, agreement: Agreement) -> Effort:
    """Estimate the effort and cost of a campaign, and the precision of its results.

    Args:
        campaign: The campaign.
        prices: Time and price of answers.
        agreement: Agreement between annotators; used for task types whose result is a share.
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
    options = get_options(campaign)
    rows = items_of(campaign).values_list("group", "pk")
    items = len(rows)
    # If pairs end, each of their votes may need several answers.
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
            # A triplet that is decided early needs fewer answers; the number can't be derived from pairs.
            curtail=options.curtail and not by_pair,
            confidence=options.confidence or None,
            least=options.confidence_votes if options.confidence else None,
        ),
    )
    return replace(said, answers=said.answers * each, most_answers=said.most_answers * each)


def ends_by_pair(campaign: Campaign, options: CampaignOptions) -> bool:
    """Return whether pairs can end, with the majority of an item as one vote."""
    return options.confidence > 0 and task_named(campaign.kind).votes_once


def measured_agreement(campaign: Campaign) -> Agreement | None:
    """Estimate the agreement from the campaign's answers, including preview answers.

    The agreement is between answers to an item; or, if pairs end by the votes of their items, between votes
    on a pair. The result is None if there are too few answers.
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
    if ends_by_pair(campaign, get_options(campaign)):
        votes = _group_by_pair(campaign, votes)
    try:
        return estimated_agreement(list(votes.values()))
    except MismatchError:
        return None


def _group_by_pair(campaign: Campaign, votes: dict[int, list[int]]) -> dict[int, list[int]]:
    """Return the majorities of the items' answers, 1 or 0, by pair; ties are omitted."""
    of_pairs: dict[str | int, list[int]] = {}
    for key, group in items_of(campaign).filter(pk__in=votes).values_list("pk", "group"):
        (winner,) = winners([[2 * vote - 1 for vote in votes[key]]]).tolist()
        if winner:
            of_pairs.setdefault(group or key, []).append(int(winner > 0))
    return dict(enumerate(of_pairs.values()))
