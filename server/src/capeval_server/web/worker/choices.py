"""Template context of multiple-choice questions, and their keyboard shortcuts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.utils.translation import gettext

from capeval_server.annotation.task_types import TaskType
from capeval_server.annotation.task_types.base import SIDES

__all__ = ["build_questions", "keys_of"]

# Keys on the home row, by the number of choices. The left hand selects the left or first choices.
_KEYS = {2: "fj", 3: "fgj", 5: "asdfg"}
_UNDO = "h"


def build_questions(
    task: TaskType, shown: Mapping[str, Any], chosen: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the sentences and the questions of an item.

    If the choices are sides, their sentences are part of the choices. Other sentences are shown above the
    questions.

    Args:
        task: The task type.
        shown: The data of the item that the worker may see.
        chosen: The choices of an earlier answer, by question.
    """
    chosen_by_side = {
        value for choices in task.choices.values() for value in choices.labels if value in SIDES
    }
    names = {"reference": "A", "left": "1", "right": "2"}
    sentences = [
        {"name": names.get(part, ""), "text": text}
        for part, text in shown.items()
        if part not in chosen_by_side
    ]
    keys = [row["key"] for row in keys_of(task)]
    questions = [
        {
            "name": name,
            "label": gettext(choices.label),
            "scale": all(value == label for value, label in choices.labels.items()),
            "numbered": not all(value == label for value, label in choices.labels.items())
            and all(value.isdecimal() for value in choices.labels),
            "choices": [
                {
                    "value": value,
                    "label": gettext(label),
                    "text": shown.get(value, "") if value in SIDES else "",
                    "chosen": chosen.get(name) == value,
                    "key": keys[place] if keys else "",
                }
                for place, (value, label) in enumerate(choices.labels.items())
            ],
        }
        for name, choices in task.choices.items()
    ]
    return {"sentences": sentences, "questions": questions}


def keys_of(task: TaskType) -> list[dict[str, str]]:
    """Return the shortcut of each choice and of undo.

    Only tasks with one question and a supported number of choices have shortcuts.
    """
    choices = next(iter(task.choices.values()), None)
    keys = _KEYS.get(len(choices.labels)) if choices else None
    if choices is None or keys is None or len(task.choices) > 1:
        return []
    rows = [
        {"label": gettext(label), "key": key}
        for label, key in zip(choices.labels.values(), keys, strict=True)
    ]
    return [*rows, {"label": gettext("Undo the last answer"), "key": _UNDO}]
