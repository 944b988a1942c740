"""Questions that are answered by choosing, as the page shows them, and the keys that choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capeval_server.annotation.task_types import TaskType
from capeval_server.annotation.task_types.base import SIDES

__all__ = ["asked", "keys_of"]

# On the home row, by the number of choices: the left hand chooses the left or the first.
_KEYS = {2: "fj", 3: "fgj", 5: "asdfg"}
_UNDO = "h"


def asked(task: TaskType, shown: Mapping[str, Any]) -> dict[str, Any]:
    """The sentences and the questions of an item.

    Where a side is chosen, its sentence is part of the choice; other sentences stand above the questions.
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
    questions = [
        {
            "name": name,
            "label": choices.label,
            "scale": all(value == label for value, label in choices.labels.items()),
            "numbered": not all(value == label for value, label in choices.labels.items())
            and all(value.isdecimal() for value in choices.labels),
            "choices": [
                {"value": value, "label": label, "text": shown.get(value, "") if value in SIDES else ""}
                for value, label in choices.labels.items()
            ],
        }
        for name, choices in task.choices.items()
    ]
    return {"sentences": sentences, "questions": questions}


def keys_of(task: TaskType) -> list[dict[str, str]]:
    """The key of each choice of a kind with one question, and of undoing; none without a layout."""
    choices = next(iter(task.choices.values()), None)
    keys = _KEYS.get(len(choices.labels)) if choices else None
    if choices is None or keys is None or len(task.choices) > 1:
        return []
    rows = [{"label": label, "key": key} for label, key in zip(choices.labels.values(), keys, strict=True)]
    return [*rows, {"label": "Undo the last answer", "key": _UNDO}]
