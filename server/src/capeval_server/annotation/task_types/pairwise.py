"""Pairwise task type: the better description of an image (CIDEr, appendix I)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from capeval.formats.judgments.plans import Plan
from capeval_server.annotation.task_types.base import (
    ChoiceQuestion,
    OneQuestion,
    register,
    validate_keys,
    validate_text,
)
from capeval_server.annotation.task_types.judged_captions import CHECK, JudgedCaptions
from capeval_server.annotation.task_types.triplet import ABOUT, PAIR_ALIASES, about, sides
from capeval_server.annotation.task_types.votes import PairVotes
from capeval_server.core.translatable_texts import gettext_noop

__all__ = ["PairwiseTask"]


@register
class PairwiseTask(OneQuestion):
    """An image and two sentences: the worker chooses the better description."""

    name = "pairwise"
    title = "Choose the better description"
    answers = 11
    batch = 10
    lease_seconds = 180
    needs_image = True
    has_sides = True
    curtailed = True
    texts = ("pairwise",)
    result = PairVotes()
    example: ClassVar[Mapping[str, Any]] = {"first": "A cart.", "second": "Two cats."}
    optional_parts = ABOUT
    aliases: ClassVar[Mapping[str, tuple[str, ...]]] = PAIR_ALIASES
    choices: ClassVar[Mapping[str, ChoiceQuestion]] = {
        "choice": ChoiceQuestion(
            label=gettext_noop("Your choice"),
            labels={"left": gettext_noop("The first"), "right": gettext_noop("The second")},
        )
    }

    def payload(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the two sentences.

        Raises:
            CampaignError: A sentence is missing or invalid.
        """
        names = ("first", "second")
        validate_keys(raw, names, ABOUT)
        return {name: validate_text(name, raw[name]) for name in names} | about(raw)

    def shown(self, payload: Mapping[str, Any], *, mirrored: bool) -> dict[str, Any]:
        """Return the two sentences by side."""
        return dict(sides(payload, mirrored=mirrored))

    def list_judging_items(self, judged: JudgedCaptions, *, answers: int) -> Iterator[dict[str, Any]]:  # noqa: ARG002
        """Yield the pairs of systems."""
        for line in self.result.plan_items(Plan(pairs=tuple(judged.pairs), triplets=()), "image_id"):
            pair = judged.pairs[int(line["key"])]
            yield {**line, "image": judged.pictures[pair.image]}

    def list_judging_checks(self, judged: JudgedCaptions) -> Iterator[dict[str, Any]]:
        """Yield pairs of a human caption and one of a different image."""
        for number, known in enumerate(judged.known):
            about = {"key": f"check-{number}", "category": CHECK, "image_id": str(known.image)}
            texts = {"first": known.right, "second": known.wrong, "expected": {"choice": "first"}}
            yield {**about, "image": judged.pictures[known.image], **texts}
