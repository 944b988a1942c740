"""A campaign's definition in the words of its pages."""

from __future__ import annotations

from capeval_server.annotation.campaigns.progress import FEWEST_TO_FORECAST, PACE_DAYS, Pace
from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.task_types import TaskType

__all__ = ["ACTIONS", "counted", "early_end", "options_in_words", "pace_in_words"]

_State = Campaign.State

_CLOSE = (
    "Close now",
    "Items that workers hold are taken back. Later answers are stored but not counted. You can open the"
    " campaign again, with a reason.",
)
_WIND_DOWN = (
    "Wind down",
    "Ends the campaign gradually. Items are no longer assigned, and workers read that the campaign is"
    " closing. Workers can finish the items that they hold; then close the campaign. You can undo this with"
    " Resume.",
)
_PAUSE = (
    "Pause",
    "Interrupts the campaign. Items are no longer assigned until you choose Resume, and workers read that the"
    " campaign is paused. Workers can finish the items that they hold.",
)
_RESUME = ("Resume", "Items are assigned to workers again.")
# What a change of state is called, and what it does, by the state before and after.
ACTIONS: dict[tuple[str, str], tuple[str, str]] = {
    (_State.DRAFT, _State.PILOT): (
        "Try it as a worker would",
        "Whoever has a link can work on it. No answer counts.",
    ),
    (_State.DRAFT, _State.OPEN): ("Open", "Workers get items, and their answers count."),
    (_State.PILOT, _State.OPEN): (
        "Open",
        "The trial ends: what is held is taken back. From then on, answers count.",
    ),
    (_State.PILOT, _State.DRAFT): ("End the trial", "What is held is taken back. Nobody gets items."),
    (_State.OPEN, _State.PAUSED): _PAUSE,
    (_State.OPEN, _State.CLOSING): _WIND_DOWN,
    (_State.OPEN, _State.CLOSED): _CLOSE,
    (_State.PAUSED, _State.OPEN): _RESUME,
    (_State.PAUSED, _State.CLOSING): _WIND_DOWN,
    (_State.PAUSED, _State.CLOSED): _CLOSE,
    (_State.CLOSING, _State.OPEN): _RESUME,
    (_State.CLOSING, _State.CLOSED): _CLOSE,
    (_State.CLOSED, _State.OPEN): ("Open again", "Workers get items again. Say why: it is in the history."),
}


def counted(number: int, noun: str) -> str:
    """A number with what it is of: 1 answer, 2 answers."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _time(seconds: int) -> str:
    if seconds % 3600 == 0:
        return counted(seconds // 3600, "hour")
    return counted(seconds // 60, "minute") if seconds % 60 == 0 else counted(seconds, "second")


def pace_in_words(pace: Pace, *, is_open: bool) -> str:
    """Describe the latest answers and, for an open campaign, the forecast that they allow.

    Returns:
        Nothing before the first answer, and once no answer is missing.
    """
    if not pace.to_go or not pace.days:
        return ""
    if not pace.recent:
        return f"No answers in the last {PACE_DAYS} days."
    found = f"{counted(pace.recent, 'answer')} in the last {_last(pace.recent_hours)}"
    if not is_open:
        return f"{found}."
    if pace.recent < FEWEST_TO_FORECAST:
        return f"{found}: too few for a forecast."
    if pace.days_left is None:
        return f"{found}: less than a day of answers is too little for a forecast."
    return f"{found}. Estimate at this rate: done in {_duration(24 * pace.days_left)}."


def _last(hours: int) -> str:
    if hours < 24:
        return "hour" if hours == 1 else f"{hours} hours"
    return "day" if hours == 24 else f"{hours // 24} days"


def _duration(hours: float) -> str:
    if hours < 1:
        return "less than an hour"
    return f"about {counted(round(hours), 'hour') if hours < 48 else counted(round(hours / 24), 'day')}"


def options_in_words(task: TaskType, options: CampaignOptions) -> list[str]:
    """How a campaign gives out work and looks at it, in sentences."""
    answers = f"{counted(options.answers, 'answer')}, each of another person"
    found = [
        f"Each item gets at most {answers}: it ends when further answers can't change its winner."
        if options.curtail
        else f"Each item gets {answers}.",
        f"A worker gets {counted(options.batch, 'item')} at once.",
        f"An item is kept for a worker for {_time(options.lease_seconds)} without activity, and for"
        f" {_time(options.longest_lease_seconds)} at most.",
        f"{counted(options.reports_to_hold, 'report')} of workers take an item out of work.",
        f"One answer in {options.check_every:,} is to a check, never two in a row, if there are checks."
        if options.check_every
        else "No checks are given out.",
    ]
    if options.confidence:
        found.insert(
            1,
            f"All items of a pair end once its winner has a probability of {options.confidence:.4g}, after"
            f" {counted(options.confidence_votes, 'vote')} at least"
            + (": a vote is the majority of an item's answers." if task.votes_once else "."),
        )
    if options.next_pairs:
        found.append(
            f"{counted(options.next_pairs, 'item')} at a time are chosen to be given out next:"
            f" {options.next_pairs_floor:.0%} of them evenly from all systems that are compared, the others"
            " where it is least certain which of two systems is the better."
        )
    if options.check_every and options.check_pass_share:
        found.append(
            f"A check that fewer than {options.check_pass_share:.0%} of at least"
            f" {counted(options.check_pass_answers, 'good worker')} pass is taken out of work."
        )
    if task.has_sides and options.repeat_every:
        found.append(
            f"After {counted(options.repeat_every, 'answer')}, one of a worker's own items is shown again,"
            " mirrored, and counts in nothing."
        )
    if options.pay_per_answer:
        found.append(f"An answer is paid {options.pay_per_answer} {options.currency}.")
    if task.reviewed:
        found.append(_reviews(options))
    if options.reopened_for == "everybody":
        found.append("Everybody gets the places of answers that were rejected, or whose worker was blocked.")
    else:
        least = counted(options.trust_answers, "answer")
        found.append(
            "Only trusted workers get the places of answers that were rejected, or whose worker was blocked:"
            f" at least {least} of theirs were reviewed or were checks, and {options.trust_share:.0%} of"
            " those were fine."
        )
    return found


def _reviews(options: CampaignOptions) -> str:
    parts = []
    if options.review_first:
        parts.append(f"the first {counted(options.review_first, 'answer')} of each worker")
    if options.review_every:
        parts.append(f"one answer in {options.review_every:,}, drawn at random")
    return f"A person reviews {' and '.join(parts)}." if parts else "No answers are drawn for review."


def early_end(options: CampaignOptions) -> str:
    """When what people answer ends before all have answered, in words; empty for never."""
    if options.confidence:
        return f"as pairs end when their winner is likely ({options.confidence:.4g})"
    return "as items end when they are decided" if options.curtail else ""
