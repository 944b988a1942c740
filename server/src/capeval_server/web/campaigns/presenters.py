"""A campaign's definition in the words of its pages."""

from __future__ import annotations

from capeval_server.annotation.campaigns.progress import FEWEST_TO_FORECAST, PACE_DAYS, Pace
from capeval_server.annotation.core.option_texts import counted, render_sentence
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
    """Return the summary of a campaign: a sentence for each option that has an effect."""
    values = options.model_dump()
    described = type(options).described(task)
    return list(filter(None, (render_sentence(name, about, values) for name, about in described.items())))


def early_end(options: CampaignOptions) -> str:
    """When what people answer ends before all have answered, in words; empty for never."""
    if options.confidence:
        return f"as pairs end when their winner is likely ({options.confidence:.4g})"
    return "as items end when they are decided" if options.curtail else ""
