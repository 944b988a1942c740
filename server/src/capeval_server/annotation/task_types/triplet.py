"""Triplet task type: the sentence that is more similar to a third one.

Source: CIDEr, sections 3 and 6. There is no image, and workers can't choose a tie.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from capeval.formats.judgments.plans import Plan
from capeval.studies.judging import HUMAN
from capeval.studies.plan import PlanOptions, plan_triplets
from capeval_server.annotation.task_types.base import (
    ITEMS,
    ChoiceQuestion,
    OneQuestion,
    register,
    validate_keys,
    validate_text,
)
from capeval_server.annotation.task_types.judged_captions import CHECK, JudgedCaptions
from capeval_server.annotation.task_types.votes import TripletVotes
from capeval_server.core.errors import CampaignError
from capeval_server.core.translatable_texts import gettext_noop

__all__ = ["ABOUT", "PAIR_ALIASES", "TripletTask", "about", "sides"]

ABOUT = ("image_id", "first_by", "second_by", "on_the_left")
"""Optional metadata of an item about its pair, for the files of votes. No browser receives it."""

PAIR_ALIASES: dict[str, tuple[str, ...]] = {
    "first": ("caption_a", "caption_1", "caption1", "sentence_a", "text_a", "a", "left"),
    "second": ("caption_b", "caption_2", "caption2", "sentence_b", "text_b", "b", "right"),
    "first_by": ("system_a", "system_1", "model_a", "model_1"),
    "second_by": ("system_b", "system_2", "model_b", "model_2"),
}
"""Other names of columns with the two sentences of a pair, and with their writers."""


def sides(payload: Mapping[str, Any], *, mirrored: bool) -> dict[str, str]:
    """Return the two texts of an item by the side on which they are shown."""
    left, right = reversed(ITEMS) if mirrored else ITEMS
    return {"left": str(payload[left]), "right": str(payload[right])}


def about(raw: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata of an item about its pair.

    Raises:
        CampaignError: A value is not a text, or `on_the_left` is not a text of the item.
    """
    if raw.get("on_the_left", "first") not in ITEMS:
        raise CampaignError(f"'on_the_left' must be {' or '.join(ITEMS)} (got {raw['on_the_left']!r})")
    return {name: validate_text(name, raw[name]) for name in ABOUT if name in raw}


@register
class TripletTask(OneQuestion):
    """Sentence A, and the sentences B (left) and C (right)."""

    name = "triplet"
    title = "Choose the more similar sentence"
    answers = 3
    batch = 10
    lease_seconds = 180
    needs_image = False
    has_sides = True
    curtailed = False
    votes_once = True
    texts = ("triplet",)
    result = TripletVotes()
    example: ClassVar[Mapping[str, Any]] = {
        "group": "1",
        "reference": "A dog runs.",
        "first": "A hound is running.",
        "second": "A cat.",
    }
    optional_parts = ABOUT
    aliases: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **PAIR_ALIASES,
        "reference": ("ref", "references", "ground_truth"),
    }
    choices: ClassVar[Mapping[str, ChoiceQuestion]] = {
        "choice": ChoiceQuestion(label=gettext_noop("Your choice"), labels={"left": "B", "right": "C"})
    }

    def payload(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the three sentences.

        Raises:
            CampaignError: A sentence is missing or invalid.
        """
        names = ("reference", "first", "second")
        validate_keys(raw, names, ABOUT)
        return {name: validate_text(name, raw[name]) for name in names} | about(raw)

    def shown(self, payload: Mapping[str, Any], *, mirrored: bool) -> dict[str, Any]:
        """Return the three sentences; B and C by side."""
        return {"reference": payload["reference"], **sides(payload, mirrored=mirrored)}

    def list_judging_items(self, judged: JudgedCaptions, *, answers: int) -> Iterator[dict[str, Any]]:
        """Yield triplets of the pairs of systems, each with one reference."""
        options = PlanOptions(per_pair=1, judgments=answers, seed=judged.seed)
        plan = Plan(
            pairs=tuple(judged.pairs), triplets=plan_triplets(judged.pairs, judged.references, options)
        )
        yield from self.result.plan_items(plan, "image_id")

    def list_judging_checks(self, judged: JudgedCaptions) -> Iterator[dict[str, Any]]:
        """Yield triplets of two human captions of an image and one of a different image."""
        for number, known in enumerate(judged.known):
            about = {"key": f"check-{number}", "category": CHECK, "image_id": str(known.image)}
            texts = {"first": judged.systems[HUMAN][known.image], "second": known.wrong}
            yield {**about, "reference": known.right, **texts, "expected": {"choice": "first"}}
