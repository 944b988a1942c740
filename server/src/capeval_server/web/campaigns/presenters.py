"""Texts of the campaign pages: actions, pace and settings."""

from __future__ import annotations

from capeval_server.annotation.campaigns.progress import FEWEST_TO_FORECAST, PACE_DAYS, Pace
from capeval_server.annotation.core.option_texts import format_count, render_sentence
from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.task_types import TaskType

__all__ = ["ACTIONS", "early_end", "format_count", "options_in_words", "pace_in_words"]

_State = Campaign.State

_CLOSE = (
    "Close now",
    "Cancels open assignments. Late answers are kept but not counted. You can reopen the campaign, with a"
    " reason.",
)
_WIND_DOWN = (
    "Wind down",
    "Ends the campaign gradually. There are no new assignments, and workers are told that the campaign is"
    " closing. They can finish the items that they have started. Then close the campaign. You can undo this"
    " with Resume.",
)
_PAUSE = (
    "Pause",
    "Interrupts the campaign. There are no new assignments until you select Resume, and workers are told that"
    " the campaign is paused. They can finish the items that they have started.",
)
_RESUME = ("Resume", "Assigns items to workers again.")
# Label and effect of each change of state, by old and new state.
ACTIONS: dict[tuple[str, str], tuple[str, str]] = {
    (_State.DRAFT, _State.PILOT): (
        "Start the preview",
        "Anyone with a link can try the campaign as a worker. Preview answers do not count.",
    ),
    (_State.DRAFT, _State.OPEN): ("Open", "Assigns items to workers. Their answers count."),
    (_State.PILOT, _State.OPEN): (
        "Open",
        "Ends the preview and cancels its open assignments. Answers count from then on.",
    ),
    (_State.PILOT, _State.DRAFT): ("End the preview", "Cancels open assignments. No items are assigned."),
    (_State.OPEN, _State.PAUSED): _PAUSE,
    (_State.OPEN, _State.CLOSING): _WIND_DOWN,
    (_State.OPEN, _State.CLOSED): _CLOSE,
    (_State.PAUSED, _State.OPEN): _RESUME,
    (_State.PAUSED, _State.CLOSING): _WIND_DOWN,
    (_State.PAUSED, _State.CLOSED): _CLOSE,
    (_State.CLOSING, _State.OPEN): _RESUME,
    (_State.CLOSING, _State.CLOSED): _CLOSE,
    (_State.CLOSED, _State.OPEN): ("Reopen", "Assigns items again. The history records your reason."),
}


def pace_in_words(pace: Pace, *, is_open: bool) -> str:
    """Describe the latest answers and, for an open campaign, the estimated completion.

    Returns:
        "" before the first answer, and if no more answers are needed.
    """
    if not pace.to_go or not pace.days:
        return ""
    if not pace.recent:
        return f"No answers in the last {PACE_DAYS} days."
    found = f"{format_count(pace.recent, 'answer')} in the last {_describe_period(pace.recent_hours)}"
    if not is_open:
        return f"{found}."
    if pace.recent < FEWEST_TO_FORECAST:
        return f"{found}: too few for a forecast."
    if pace.days_left is None:
        return f"{found}: less than a day of answers is too little for a forecast."
    return f"{found}. Estimate at this rate: done in {_describe_duration(24 * pace.days_left)}."


def _describe_period(hours: int) -> str:
    if hours < 24:
        return "hour" if hours == 1 else f"{hours} hours"
    return "day" if hours == 24 else f"{hours // 24} days"


def _describe_duration(hours: float) -> str:
    if hours < 1:
        return "less than an hour"
    duration = format_count(round(hours), "hour") if hours < 48 else format_count(round(hours / 24), "day")
    return f"about {duration}"


def options_in_words(task: TaskType, options: CampaignOptions) -> list[str]:
    """Return the summary of a campaign: a sentence for each option that has an effect."""
    values = options.model_dump()
    described = type(options).described(task)
    return list(filter(None, (render_sentence(name, about, values) for name, about in described.items())))


def early_end(options: CampaignOptions) -> str:
    """Describe the early stopping of a campaign; return "" if it has none."""
    if options.confidence:
        return f"early stopping of pairs at confidence {options.confidence:.4g}"
    return "early stopping of decided items" if options.curtail else ""
