"""Texts of the campaign pages: actions, pace and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from capeval_server.annotation.campaigns.columns import COMMON_PARTS, Part, list_parts
from capeval_server.annotation.campaigns.item_tables import ItemTable
from capeval_server.annotation.campaigns.progress import FEWEST_TO_FORECAST, PACE_DAYS, Pace
from capeval_server.annotation.core.option_texts import format_count, render_sentence
from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.models import Campaign, Item
from capeval_server.annotation.task_types import TaskType
from capeval_server.web.worker.choices import build_questions
from capeval_server.web.worker.pictures import picture_of

__all__ = [
    "ACTIONS",
    "describe_drawing",
    "describe_item",
    "describe_table",
    "early_end",
    "format_count",
    "options_in_words",
    "pace_in_words",
]

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


# Number of rows and of characters of a cell on the page of columns.
_ROWS, _CELL = 5, 80


def describe_table(
    task: TaskType, table: ItemTable | None, columns: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """Return the first rows of a table, and the possible columns of each part of an item.

    Args:
        task: The task type.
        table: The table; None if there is none.
        columns: The column of each part.
        name: Name of the table's file.
    """
    if table is None:
        return {"rows": 0}
    is_mapped = bool(columns) or not table.is_native
    return {
        "rows": len(table.rows),
        "names": table.columns,
        "head": [
            (place, [_shorten(row.get(column)) for column in table.columns])
            for place, row in table.rows[:_ROWS]
        ],
        "parts": [_describe_part(task, part, table, columns) for part in list_parts(task) if is_mapped],
        "file_name": name,
    }


def _shorten(cell: object) -> str:
    text = ", ".join(map(str, cell)) if isinstance(cell, list) else "" if cell is None else str(cell)
    return text if len(text) <= _CELL else f"{text[:_CELL]}…"


def _describe_part(
    task: TaskType, part: Part, table: ItemTable, columns: Mapping[str, Any]
) -> dict[str, Any]:
    column = columns.get(part.name, "")
    text = column["text"] if isinstance(column, Mapping) else ""
    none = "select a column" if part.is_required else "created" if part.name == "key" else "none"
    choices = [("", none), *((f"column:{each}", each) for each in table.columns)]
    if text or part.name in task.file_parts:
        choices.append((f"text:{text}", f"“{text}” for all rows"))
    return {
        "name": part.name,
        "is_required": part.is_required,
        "value": f"text:{text}" if text else f"column:{column}" if column else "",
        "choices": choices,
    }


def describe_item(task: TaskType, item: Item | None) -> dict[str, Any] | None:
    """Return the template context of an item of a campaign that is not created yet."""
    if item is None:
        return None
    shown = task.shown(item.payload, mirrored=False)
    return {
        "lease": UUID(int=0),
        "place": 1,
        "revision": 0,
        "image": picture_of(item.image) | {"name": item.image.name} if item.image else None,
        **shown,
        **(build_questions(task, shown) if task.choices else {}),
    }


def describe_drawing(task: TaskType) -> dict[str, Any]:
    """Return the form of a task type's page, as drawn on its card: the places of texts and of choices."""
    shown = task.shown(task.payload(_list_own_parts(task)), mirrored=False)
    texts = [part for part, value in shown.items() if isinstance(value, str)]
    questions = [len(question.labels) for question in task.choices.values()][:3]
    left = 52 if task.needs_image else 8
    return {
        "image": task.needs_image,
        "written": bool(task.written),
        "left": left,
        "width": 112 - left,
        "texts": [8 + 14 * number for number in range(len(texts))],
        "choices": [
            (left + 11 * place, 52 - 11 * (len(questions) - 1 - row))
            for row, number in enumerate(questions)
            for place in range(min(number, 5))
        ],
    }


def _list_own_parts(task: TaskType) -> dict[str, Any]:
    return {name: value for name, value in task.example.items() if name not in COMMON_PARTS}
