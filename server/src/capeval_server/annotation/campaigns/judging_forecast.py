"""Forecast of a bundle of judgment campaigns, before it is created."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from capeval.studies.effort import Agreement, EffortOptions, Prices, forecast
from capeval_server.annotation.campaigns.leaderboard_judging import JudgingRequest, collect_items
from capeval_server.annotation.task_types import TaskType
from capeval_server.annotation.task_types.judged_captions import JudgedCaptions

__all__ = ["JudgingForecast", "forecast_judging"]

# Assumed disagreement between workers, as on the page of time and cost.
_AGREEMENT = Agreement(yes=0.5, concentration=1.0)
# Assumed standard deviation of the mean ratings of images.
_SPREAD = 1.0


@dataclass(frozen=True, kw_only=True)
class JudgingForecast:
    """Forecast of one campaign.

    Attributes:
        kind: Task type.
        title: Display name of the task type.
        items: Number of items.
        answers: Number of answers, without those to attention checks.
        checks: Number of attention checks.
        check_answers: Number of answers to attention checks, which are not counted in results.
        no_checks: Reason why there are no attention checks although they are wanted; else empty.
        hours: Working time for all answers, in hours.
        cost: Cost of all answers.
        difference: Smallest difference between two systems that is detectable with 80 % power: of shares, or
            of mean ratings, for a standard deviation of 1 between images.
        is_share: Whether the values of the systems are shares.
    """

    kind: str
    title: str
    items: int
    answers: int
    checks: int
    check_answers: int
    no_checks: str
    hours: float
    cost: float
    difference: float
    is_share: bool


def forecast_judging(
    wanted: JudgingRequest, judged: JudgedCaptions, *, hourly: float, fee: float
) -> list[JudgingForecast]:
    """Return the forecast of each campaign of a bundle.

    Args:
        wanted: The choices.
        judged: The captions.
        hourly: Pay per hour.
        fee: Fee of a panel, as a fraction of the pay.

    Raises:
        OptionError: A number is out of range.
        CampaignError: A setting of a campaign is invalid.
    """
    return [_forecast(wanted, judged, task, hourly, fee) for task in wanted.tasks]


def _forecast(
    wanted: JudgingRequest, judged: JudgedCaptions, task: TaskType, hourly: float, fee: float
) -> JudgingForecast:
    campaign = wanted.get_options(task)
    answers = campaign.answers
    items, checks = collect_items(task, judged, campaign)
    # Workers together answer each item `answers` times, and so meet the checks of as many complete rounds.
    number = answers * (len(items) + len(checks))
    prices = Prices(seconds=task.seconds, hourly=hourly, fee=fee)
    hours = number * prices.seconds / 3600
    is_share = bool(task.result.yes)
    images = len(judged.images)
    if is_share:
        options = EffortOptions(systems=len(judged.systems), votes=answers)
        difference = forecast(images=images, agreement=_AGREEMENT, prices=prices, options=options).difference
    else:
        reach = sum(map(NormalDist().inv_cdf, (0.975, 0.8)))
        difference = reach * _SPREAD * math.sqrt(2 / images)
    return JudgingForecast(
        kind=task.name,
        title=task.title,
        items=len(items),
        answers=answers * len(items),
        checks=len(checks),
        check_answers=answers * len(checks),
        no_checks="" if checks or not campaign.check_every else _explain_no_checks(task, judged),
        hours=hours,
        cost=hours * prices.hourly * (1 + prices.fee),
        difference=difference,
        is_share=is_share,
    )


def _explain_no_checks(task: TaskType, judged: JudgedCaptions) -> str:
    if not judged.known:
        return "no attention checks, because the captions of different images are too similar"
    if next(task.list_judging_checks(judged), None) is None:
        return "no attention checks, because no answer to its question is known to be right"
    return "no attention checks, because a worker receives all items in one batch"
