"""Which of two sentences is more like a third (CIDEr, sections 3 and 6): no image, and no third answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from capeval_server.annotation.tasks.base import (
    Choices,
    TaskType,
    checked_keys,
    checked_text,
    chosen,
    register,
)
from capeval_server.errors import CampaignError

__all__ = ["ABOUT", "SIDES", "Triplet", "about", "item_choice", "sides"]

SIDES = ("left", "right")
ABOUT = ("image_id", "first_by", "second_by", "on_the_left")
"""What an item can say of its pair, for the files of votes: no browser gets it."""
_ITEMS = ("first", "second")


def sides(payload: Mapping[str, Any], *, mirrored: bool) -> dict[str, str]:
    """The two texts of an item by the side that they are shown on."""
    left, right = reversed(_ITEMS) if mirrored else _ITEMS
    return {"left": str(payload[left]), "right": str(payload[right])}


def item_choice(choice: str, *, mirrored: bool) -> str:
    """Which of an item's two texts was chosen by its side; what is no side stays, such as "equal"."""
    if choice not in SIDES:
        return choice
    return _ITEMS[SIDES.index(choice) ^ mirrored]


def about(raw: Mapping[str, Any]) -> dict[str, str]:
    """What an item says of its pair. Raises a `CampaignError` where it is no text, or no text of the item."""
    if raw.get("on_the_left", "first") not in _ITEMS:
        raise CampaignError(f"'on_the_left' must be {' or '.join(_ITEMS)} (got {raw['on_the_left']!r})")
    return {name: checked_text(name, raw[name]) for name in ABOUT if name in raw}


@register
class Triplet(TaskType):
    """Sentence A, and the sentences B (left) and C (right)."""

    name = "triplet"
    title = "Compare sentences with a sentence"
    answers = 3
    batch = 10
    lease_seconds = 180
    needs_image = False
    has_sides = True
    texts = ("triplet",)
    choices: ClassVar[Mapping[str, Choices]] = {
        "choice": Choices(label="Your choice", labels={"left": "B", "right": "C"})
    }

    def payload(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The three sentences. Raises a `CampaignError` where one is missing."""
        names = ("reference", "first", "second")
        checked_keys(raw, names, ABOUT)
        return {name: checked_text(name, raw[name]) for name in names} | about(raw)

    def answer(
        self,
        payload: Mapping[str, Any],  # noqa: ARG002
        raw: Mapping[str, Any],
        *,
        mirrored: bool,
    ) -> dict[str, Any]:
        """Which candidate was chosen: first or second. Raises an `AnswerError` for another choice."""
        return {"choice": item_choice(chosen(raw, SIDES), mirrored=mirrored)}

    def shown(self, payload: Mapping[str, Any], *, mirrored: bool) -> dict[str, Any]:
        """The three sentences."""
        return {"reference": payload["reference"], **sides(payload, mirrored=mirrored)}
