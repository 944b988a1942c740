"""Agreement between answers: captions of the same image, and choices by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from django.db.models.fields.json import KT

from capeval.data.captions import ImageId, References
from capeval.metrics.cider import CiderD
from capeval.studies.ranking import rank_references
from capeval.studies.shared.agreement import Alpha, Scale, measure_alpha
from capeval.studies.shared.words import ComparedMetric
from capeval_server.annotation.models import Campaign, Response
from capeval_server.annotation.task_types import RatingResult, TaskType, task_named

__all__ = [
    "LEAST_OTHERS",
    "LIMIT",
    "CaptionAgreement",
    "QuestionAgreement",
    "measure_caption_agreement",
    "measure_question_agreement",
    "score_agreement",
]

LIMIT = 0.06
"""CIDEr-D below which a caption is sent to review.

Captions of other images were planted in the validation set of nocaps (1 %, drawn five times). Once an image
has its ten captions, 94 to 95 % of the planted captions and 3.1 % of all captions are below this limit. With
a limit of 0.05, one draw found 89 %. With only three other captions, fewer planted captions are found, and
more correct ones are reviewed.
"""

LEAST_OTHERS = 3
"""Minimum number of other captions of an image for a comparison."""


@dataclass(frozen=True, kw_only=True)
class CaptionAgreement:
    """The agreement of each counted caption with the other captions of its image.

    Attributes:
        scores: CIDEr-D against the other captions of the image, by the key of the answer. Captions of images
            with fewer than `LEAST_OTHERS` others have none.
        workers: Participation of the worker of each of these answers.
        compared: Number of images with enough captions.
        waiting: Number of images with too few captions.
    """

    scores: Mapping[int, float]
    workers: Mapping[int, int]
    compared: int
    waiting: int

    @property
    def unlike(self) -> list[int]:
        """The keys of the answers with too little agreement, to be reviewed."""
        return [key for key, score in self.scores.items() if score < LIMIT]

    def means(self) -> dict[int, tuple[float, int]]:
        """Return the mean of each worker and the number of captions, by participation."""
        found: dict[int, list[float]] = {}
        for key, score in self.scores.items():
            found.setdefault(self.workers[key], []).append(score)
        return {worker: (sum(scores) / len(scores), len(scores)) for worker, scores in found.items()}


@dataclass(frozen=True, kw_only=True)
class QuestionAgreement:
    """The agreement of annotators on a question, for the items of a class.

    Attributes:
        category: Class; empty for items without one.
        question: Name of the question; empty if there is only one.
        items: Number of items with at least two counted answers.
        answers: Number of answers to these items.
        alpha: Krippendorff's alpha with its interval; None if it is not defined: all answers are equal, or no
            item has two.
        shares: Number of answers for each choice.
    """

    category: str
    question: str
    items: int
    answers: int
    alpha: Alpha | None
    shares: Mapping[str, int]


def score_agreement(captions: Mapping[ImageId, Sequence[str]]) -> dict[ImageId, tuple[float, ...]]:
    """Return the CIDEr-D of each caption against the other captions of its image.

    Images with fewer than `LEAST_OTHERS` + 1 captions are omitted. Document frequencies come from all
    captions, so pass the captions of the whole campaign.

    Args:
        captions: The captions of each image.
    """
    enough = {image: list(texts) for image, texts in captions.items() if len(texts) > LEAST_OTHERS}
    if not enough:
        return {}
    ranking = rank_references(References(enough), (ComparedMetric(metric=CiderD()),))
    return {
        image: tuple(scores.tolist()) for image, scores in zip(enough, ranking.scores["CIDEr-D"], strict=True)
    }


def measure_caption_agreement(campaign: Campaign) -> CaptionAgreement:
    """Return the agreement of each counted caption with the others of its image."""
    part = task_named(campaign.kind).written
    rows = Response.objects.filter(item__campaign=campaign, filled_slot__isnull=False).order_by("pk")
    keys: dict[int | str, list[int]] = {}
    texts: dict[int | str, list[str]] = {}
    workers = {}
    for key, item, worker, answer in rows.values_list("pk", "item_id", "participation_id", "answer"):
        keys.setdefault(item, []).append(key)
        texts.setdefault(item, []).append(answer[part])
        workers[key] = worker
    found = score_agreement(texts)
    scores = {
        key: score
        for item, all_of_it in found.items()
        for key, score in zip(keys[item], all_of_it, strict=True)
    }
    return CaptionAgreement(
        scores=scores, workers=workers, compared=len(found), waiting=len(keys) - len(found)
    )


def measure_question_agreement(campaign: Campaign) -> list[QuestionAgreement]:
    """Return the agreement on each question by class, and overall for several classes."""
    task = task_named(campaign.kind)
    rows = Response.objects.filter(
        item__campaign=campaign, item__is_check=False, filled_slot__isnull=False
    ).order_by("item_id", "pk")
    chosen = (KT(f"answer__{question}") for question in task.choices)
    by_class: dict[str, dict[int, _Answers]] = {}
    values = rows.values_list("item_id", "item__category", "item__image_id", "item__group", *chosen)
    for item, category, image, group, *choices in values:
        # Items of an image, or of a group, are not independent of each other.
        unit = ("image", image) if image else ("group", group) if group else ("item", item)
        answers = by_class.setdefault(category, {}).setdefault(item, _Answers(unit, []))
        answers.given.append(dict(zip(task.choices, choices, strict=True)))
    found = [
        _measure_agreement(task, category, question, list(items.values()))
        for category, items in sorted(by_class.items())
        for question in task.choices
    ]
    if len(by_class) > 1:
        every = [item for items in by_class.values() for item in items.values()]
        found += [_measure_agreement(task, "all", question, every) for question in task.choices]
    return found


class _Answers(NamedTuple):
    """The answers to an item, and the unit that varies: its image, its group, or the item itself."""

    unit: tuple[str, object]
    given: list[dict[str, str]]


def _measure_agreement(
    task: TaskType, category: str, question: str, items: Sequence[_Answers]
) -> QuestionAgreement:
    answered = [item for item in items if len(item.given) > 1]
    chosen = [[answer[question] for answer in item.given] for item in answered]
    names = sorted({choice for choices in chosen for choice in choices})
    scale, numbers = _number_choices(task, question, names)
    table = np.full((len(chosen), max(map(len, chosen), default=2)), np.nan)
    for row, choices in enumerate(chosen):
        table[row, : len(choices)] = [numbers[choice] for choice in choices]
    units = [item.unit for item in answered]
    kinds = sorted({kind for kind, _ in units})
    return QuestionAgreement(
        category=category,
        question="" if len(task.choices) == 1 else question,
        items=len(chosen),
        answers=sum(map(len, chosen)),
        alpha=measure_alpha(table, scale=scale, units=units, unit_name=" and ".join(f"{k}s" for k in kinds)),
        shares={name: sum(choices.count(name) for choices in chosen) for name in names},
    )


def _number_choices(task: TaskType, question: str, names: Sequence[str]) -> tuple[Scale, dict[str, float]]:
    """Return the scale of a question, and the number of each choice."""
    result = task.result
    if isinstance(result, RatingResult) and len(result.rated) == len(task.choices) == 1:
        (rated,) = result.rated
        return rated.question.alpha_scale, {name: rated.number({question: name}) for name in names}
    # Points of a scale differ by their distance; other choices are only equal or different.
    if all(_is_number(name) for name in names):
        return "interval", {name: float(name) for name in names}
    return "nominal", {name: float(place) for place, name in enumerate(names)}


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()
