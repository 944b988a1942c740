"""The judgments M1 to M5 of the 2015 COCO challenge, and THumB ratings.

The challenge's page defines the measures M1 to M5 but does not print its questions. The questions in
`templates/annotation/texts` are our own, and organizers can change them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from capeval.data.captions import ImageId
from capeval.studies.judging import HUMAN, QUESTIONS, RANDOM, thumb_score
from capeval_server.annotation.task_types.base import (
    LONGEST_CATEGORY,
    ChoiceQuestion,
    OneQuestion,
    TaskType,
    register,
    validate_choice,
    validate_keys,
    validate_text,
)
from capeval_server.annotation.task_types.judged_captions import CHECK, JudgedCaptions, KnownCaptions
from capeval_server.annotation.task_types.results import RatedQuestion, RatingResult
from capeval_server.annotation.task_types.triplet import sides
from capeval_server.core.errors import AnswerError
from capeval_server.core.translatable_texts import gettext_noop

__all__ = ["M1", "M2", "M3", "M4", "M5", "RatingTask"]

_BATCH = 10
_LEASE_SECONDS = 180
_BETTER = {"first": "better", "second": "worse", "equal": "equal"}
_SCALE = {str(number): float(number) for number in range(1, 6)}
# The image's id in its challenge, for the files of ratings. No browser receives it.
_OPTIONAL = ("image_id",)
_PENALTIES = ("0", "0.1", "0.2", "0.3", "0.4", "0.5")


# The choices of a scale that are right for a caption of a different image, and for a person's caption.
_WRONG, _RIGHT = ["1", "2"], ["4", "5"]
_Known = tuple[str, str, dict[str, Any]]


class _SystemTask(TaskType):
    """Base class: items with a caption by `system`, which no browser receives."""

    file_parts = ("system",)

    def list_judging_items(self, judged: JudgedCaptions, *, answers: int) -> Iterator[dict[str, Any]]:  # noqa: ARG002
        """Yield one item for each caption of each system."""
        for image, system, caption in judged.captions():
            number = list(judged.systems).index(system)
            about = {"key": f"{image}-{number}", "group": str(image), "category": system[:LONGEST_CATEGORY]}
            yield {**about, **self._build_line(judged, image, system, caption)}

    def list_judging_checks(self, judged: JudgedCaptions) -> Iterator[dict[str, Any]]:
        """Yield one item with a known answer for each image; several forms of checks alternate."""
        for number, known in enumerate(judged.known):
            cases = self._list_known(known)
            if cases:
                system, caption, expected = cases[number % len(cases)]
                line = self._build_line(judged, known.image, system, caption)
                yield {"key": f"check-{number}", "category": CHECK, **line, "expected": expected}

    def _build_line(
        self,
        judged: JudgedCaptions,
        image: ImageId,
        system: str,
        caption: str,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return the item about a caption of an image."""
        picture = {"image": judged.pictures[image]} if self.needs_image else {}
        return {"image_id": str(image), "system": system, **picture}

    def _list_known(self, known: KnownCaptions) -> list[_Known]:  # noqa: ARG002
        """Return the writer and the caption of each form of check, with the expected answer."""
        return []


class _CaptionTask(_SystemTask):
    """Base class: an image and one caption, by `system`, which no browser receives."""

    answers = 3
    batch = _BATCH
    lease_seconds = _LEASE_SECONDS
    needs_image = True
    example: ClassVar[Mapping[str, Any]] = {"caption": "A cart stands in a street.", "system": "ours"}
    optional_parts = _OPTIONAL
    aliases: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "caption": ("prediction", "hypothesis", "candidate", "sentence", "text"),
        "system": ("model", "method"),
    }

    def payload(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the caption and its system.

        Raises:
            CampaignError: A part is missing or invalid.
        """
        names = ("caption", "system")
        validate_keys(raw, names, _OPTIONAL)
        return {name: validate_text(name, raw[name]) for name in (*names, *_OPTIONAL) if name in raw}

    def shown(self, payload: Mapping[str, Any], *, mirrored: bool) -> dict[str, Any]:  # noqa: ARG002
        """Return the caption."""
        return {"caption": payload["caption"]}

    def _build_line(
        self, judged: JudgedCaptions, image: ImageId, system: str, caption: str
    ) -> dict[str, Any]:
        return {**super()._build_line(judged, image, system, caption), "caption": caption}


class _ComparisonTask(_SystemTask, OneQuestion):
    """Base class: a candidate by `system`, and a person's caption, in random order."""

    answers = 3
    batch = _BATCH
    lease_seconds = _LEASE_SECONDS
    has_sides = True
    example: ClassVar[Mapping[str, Any]] = {
        "candidate": "A cart.",
        "human": "A cart stands in a street.",
        "system": "ours",
    }
    optional_parts = _OPTIONAL
    aliases: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "candidate": ("prediction", "hypothesis", "caption", "caption_a", "sentence", "text"),
        "human": ("reference", "ref", "ground_truth", "caption_b"),
        "system": ("model", "method"),
    }

    def payload(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the two captions, the candidate first.

        Raises:
            CampaignError: A part is missing or invalid.
        """
        validate_keys(raw, ("candidate", "human", "system"), _OPTIONAL)
        return {
            "first": validate_text("candidate", raw["candidate"]),
            "second": validate_text("human", raw["human"]),
            "system": validate_text("system", raw["system"]),
            **{name: validate_text(name, raw[name]) for name in _OPTIONAL if name in raw},
        }

    def shown(self, payload: Mapping[str, Any], *, mirrored: bool) -> dict[str, Any]:
        """Return the two captions by side."""
        return dict(sides(payload, mirrored=mirrored))

    def _build_line(
        self, judged: JudgedCaptions, image: ImageId, system: str, caption: str
    ) -> dict[str, Any]:
        line = super()._build_line(judged, image, system, caption)
        return {**line, "candidate": caption, "human": judged.references[image][0]}


@register
class M1(_ComparisonTask):
    """Whether a caption is better than or equal to a person's."""

    name = "m1"
    title = "Compare a caption with a person's (M1)"
    needs_image = True
    texts = ("m1",)
    result = RatingResult(
        (RatedQuestion.of_choices(QUESTIONS["M1"], {"better": 1.0, "equal": 0.0, "worse": -1.0}),),
        caption="first",
    )
    choices: ClassVar[Mapping[str, ChoiceQuestion]] = {
        "choice": ChoiceQuestion(
            label=gettext_noop("Your choice"),
            labels={
                "left": gettext_noop("The first is better"),
                "equal": gettext_noop("Equally good"),
                "right": gettext_noop("The second is better"),
            },
        )
    }

    def answer(self, payload: Mapping[str, Any], raw: Mapping[str, Any], *, mirrored: bool) -> dict[str, Any]:
        """Return whether the candidate is better, equal or worse.

        Raises:
            AnswerError: The choice is not a choice of the question.
        """
        return {"choice": _BETTER[super().answer(payload, raw, mirrored=mirrored)["choice"]]}

    def _list_known(self, known: KnownCaptions) -> list[_Known]:
        return [(RANDOM, known.wrong, {"choice": "worse"})]


@register
class M2(_CaptionTask, OneQuestion):
    """Whether a person wrote a caption."""

    name = "m2"
    title = "A person or a machine? (M2)"
    texts = ("m2",)
    result = RatingResult((RatedQuestion.of_choices(QUESTIONS["M2"], {"person": 1.0, "machine": 0.0}),))
    choices: ClassVar[Mapping[str, ChoiceQuestion]] = {
        "choice": ChoiceQuestion(
            label=gettext_noop("Your choice"),
            labels={"person": gettext_noop("A person"), "machine": gettext_noop("A machine")},
        )
    }

    def _list_known(self, known: KnownCaptions) -> list[_Known]:
        # A person wrote the caption of the different image, too. In reverse order, it is a machine's.
        reverse = " ".join(reversed(known.wrong.split()))
        return [(RANDOM, reverse, {"choice": "machine"})]


@register
class M3(_CaptionTask, OneQuestion):
    """How correct a caption is."""

    name = "m3"
    title = "Rate the correctness (M3)"
    texts = ("m3",)
    result = RatingResult((RatedQuestion.of_choices(QUESTIONS["M3"], _SCALE),))
    choices: ClassVar[Mapping[str, ChoiceQuestion]] = {
        "choice": ChoiceQuestion(
            label=gettext_noop("How correct is the sentence?"),
            labels={
                "1": gettext_noop("incorrect: it does not fit the image"),
                "2": gettext_noop("mostly incorrect: little of it fits"),
                "3": gettext_noop("partly correct: about half of it fits"),
                "4": gettext_noop("mostly correct: a detail is wrong"),
                "5": gettext_noop("correct: all of it fits"),
            },
        )
    }

    def _list_known(self, known: KnownCaptions) -> list[_Known]:
        return [
            (RANDOM, known.wrong, {"choice": _WRONG}),
            (HUMAN, known.right, {"choice": _RIGHT}),
        ]


@register
class M4(_CaptionTask, OneQuestion):
    """How detailed a caption is. Only meaningful with M3.

    Captions of wrong images can be detailed, too, so there are no attention checks.
    """

    name = "m4"
    title = "Rate the amount of detail (M4)"
    texts = ("m4",)
    result = RatingResult((RatedQuestion.of_choices(QUESTIONS["M4"], _SCALE, shown_with="M3"),))
    choices: ClassVar[Mapping[str, ChoiceQuestion]] = {
        "choice": ChoiceQuestion(
            label=gettext_noop("How much detail does the sentence have?"),
            labels={
                "1": gettext_noop("lack of details"),
                "2": gettext_noop("few details"),
                "3": gettext_noop("some details"),
                "4": gettext_noop("detailed"),
                "5": gettext_noop("very detailed"),
            },
        )
    }


@register
class M5(_ComparisonTask):
    """Whether a caption has the same meaning as a person's; no image is shown."""

    name = "m5"
    title = "Do they say the same? (M5)"
    needs_image = False
    texts = ("m5",)
    result = RatingResult(
        (RatedQuestion.of_choices(QUESTIONS["M5"], {"yes": 1.0, "no": 0.0}),), caption="first"
    )
    choices: ClassVar[Mapping[str, ChoiceQuestion]] = {
        "choice": ChoiceQuestion(
            label=gettext_noop("Do the sentences say the same?"),
            labels={"yes": gettext_noop("Yes, the same"), "no": gettext_noop("No, not the same")},
        )
    }

    def _list_known(self, known: KnownCaptions) -> list[_Known]:
        # The second sentence is the same human caption. Others of the image may say something different.
        return [
            (RANDOM, known.wrong, {"choice": "no"}),
            (HUMAN, known.right, {"choice": "yes"}),
        ]


def _compute_thumb(answer: Mapping[str, str]) -> float:
    precision, recall = (np.array([float(answer[name])]) for name in ("precision", "recall"))
    penalties = (-np.array([float(answer[name])]) for name in ("fluency", "conciseness", "inclusive"))
    return float(thumb_score(precision, recall, *penalties)[0])


@register
class RatingTask(_CaptionTask):
    """Precision, recall and penalties of a caption, as in THumB (Kasai et al. 2022)."""

    name = "rating"
    title = "Rate precision and recall"
    texts = ("rating-thumb",)
    result = RatingResult(
        (
            RatedQuestion(
                question=QUESTIONS["P"], part="precision", number=lambda answer: float(answer["precision"])
            ),
            RatedQuestion(
                question=QUESTIONS["R"], part="recall", number=lambda answer: float(answer["recall"])
            ),
            RatedQuestion(question=QUESTIONS["THumB"], number=_compute_thumb),
        )
    )
    choices: ClassVar[Mapping[str, ChoiceQuestion]] = {
        "precision": ChoiceQuestion(
            label=gettext_noop("Precision: how much of the caption is correct? (1 = none, 5 = all)"),
            labels={each: each for each in _SCALE},
        ),
        "recall": ChoiceQuestion(
            label=gettext_noop(
                "Recall: how much of the important content does it mention? (1 = none, 5 = all)"
            ),
            labels={each: each for each in _SCALE},
        ),
        "fluency": ChoiceQuestion(
            label=gettext_noop("Points off for fluency: grammar and spelling"),
            labels={each: each for each in _PENALTIES},
        ),
        "conciseness": ChoiceQuestion(
            label=gettext_noop("Points off for conciseness: needless words"),
            labels={each: each for each in _PENALTIES},
        ),
        "inclusive": ChoiceQuestion(
            label=gettext_noop("Points off for language that excludes or offends people"),
            labels={each: each for each in _PENALTIES},
        ),
    }

    def answer(
        self,
        payload: Mapping[str, Any],  # noqa: ARG002
        raw: Mapping[str, Any],
        *,
        mirrored: bool,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return the choice of each question.

        Raises:
            AnswerError: An answer is missing, or is not a choice of its question.
        """
        if set(raw) != set(self.choices):
            raise AnswerError(f"the answer must have exactly the parts {', '.join(self.choices)}")
        return {
            name: validate_choice({"choice": raw[name]}, tuple(choices.labels), name)
            for name, choices in self.choices.items()
        }

    def _list_known(self, known: KnownCaptions) -> list[_Known]:
        # A person's caption may omit important content.
        return [
            (RANDOM, known.wrong, {"precision": _WRONG, "recall": _WRONG}),
            (HUMAN, known.right, {"precision": _RIGHT}),
        ]
