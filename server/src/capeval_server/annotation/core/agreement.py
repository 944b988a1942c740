"""How far the answers of a campaign agree: captions with the others of their image, choices by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models.fields.json import KT

from capeval.data.captions import ImageId, References
from capeval.metrics.cider import CiderD
from capeval.studies.plan import krippendorff_alpha
from capeval.studies.ranking import rank_references
from capeval.studies.shared.coefficients import if_defined
from capeval.studies.shared.words import Contender
from capeval_server.annotation.models import Campaign, Response
from capeval_server.annotation.task_types import TaskType, task_named

__all__ = [
    "LEAST_OTHERS",
    "LIMIT",
    "CaptionAgreement",
    "QuestionAgreement",
    "agreement",
    "agreements_of",
    "captions_of",
]

LIMIT = 0.06
"""Below this CIDEr-D a caption goes to review.

Of captions of other images that were planted in nocaps's validation set (1 %, drawn five times), 94 to 95 %
are below it once an image has its ten captions, and 3.1 % of all are; below 0.05 it was 89 % in one draw.
With three other captions, fewer are found and more right ones are looked at.
"""

LEAST_OTHERS = 3
"""How many other captions an image must have before a caption is compared with them."""


@dataclass(frozen=True, kw_only=True)
class CaptionAgreement:
    """How far each caption that counts agrees with the others of its image.

    Attributes:
        scores: CIDEr-D against the other captions of its image, by the answer's key. Captions of images with
            fewer than `LEAST_OTHERS` others have none.
        workers: Of each of these answers, the participation of its worker.
        compared: How many images have enough captions.
        waiting: How many have too few.
    """

    scores: Mapping[int, float]
    workers: Mapping[int, int]
    compared: int
    waiting: int

    @property
    def unlike(self) -> list[int]:
        """The answers that agree too little with the others, to be looked at."""
        return [key for key, score in self.scores.items() if score < LIMIT]

    def means(self) -> dict[int, tuple[float, int]]:
        """The mean of each worker, by participation, and of how many captions it is."""
        found: dict[int, list[float]] = {}
        for key, score in self.scores.items():
            found.setdefault(self.workers[key], []).append(score)
        return {worker: (sum(scores) / len(scores), len(scores)) for worker, scores in found.items()}


@dataclass(frozen=True, kw_only=True)
class QuestionAgreement:
    """How far people agree on a question, of the items of a class.

    Attributes:
        category: The class; empty for items without one.
        question: The question's name; empty where there is one only.
        items: How many items have two answers that count, or more.
        answers: How many answers these have.
        alpha: Krippendorff's alpha; None where it is not defined: all are the same, or no item has two.
        shares: How many of the answers each choice has.
    """

    category: str
    question: str
    items: int
    answers: int
    alpha: float | None
    shares: Mapping[str, int]


def agreement(captions: Mapping[ImageId, Sequence[str]]) -> dict[ImageId, tuple[float, ...]]:
    """CIDEr-D of each caption against the other captions of its image.

    Images with fewer than `LEAST_OTHERS` + 1 captions are left out. Document frequencies are those of all
    captions given, so give those of a whole campaign.

    Args:
        captions: The captions of each image.
    """
    enough = {image: list(texts) for image, texts in captions.items() if len(texts) > LEAST_OTHERS}
    if not enough:
        return {}
    ranking = rank_references(References(enough), (Contender(metric=CiderD()),))
    return {
        image: tuple(scores.tolist()) for image, scores in zip(enough, ranking.scores["CIDEr-D"], strict=True)
    }


def captions_of(campaign: Campaign) -> CaptionAgreement:
    """How far each caption that counts agrees with the others of its image."""
    part = task_named(campaign.kind).written
    rows = Response.objects.filter(item__campaign=campaign, filled_slot__isnull=False).order_by("pk")
    keys: dict[int | str, list[int]] = {}
    texts: dict[int | str, list[str]] = {}
    workers = {}
    for key, item, worker, answer in rows.values_list("pk", "item_id", "participation_id", "answer"):
        keys.setdefault(item, []).append(key)
        texts.setdefault(item, []).append(answer[part])
        workers[key] = worker
    found = agreement(texts)
    scores = {
        key: score
        for item, all_of_it in found.items()
        for key, score in zip(keys[item], all_of_it, strict=True)
    }
    return CaptionAgreement(
        scores=scores, workers=workers, compared=len(found), waiting=len(keys) - len(found)
    )


def agreements_of(campaign: Campaign) -> list[QuestionAgreement]:
    """How far people agree on each question, by class, and of all items where there are several classes."""
    task = task_named(campaign.kind)
    rows = Response.objects.filter(
        item__campaign=campaign, item__is_check=False, filled_slot__isnull=False
    ).order_by("item_id", "pk")
    chosen = (KT(f"answer__{question}") for question in task.choices)
    answers: dict[str, dict[int, list[dict[str, str]]]] = {}
    for item, category, *choices in rows.values_list("item_id", "item__category", *chosen):
        answer = dict(zip(task.choices, choices, strict=True))
        answers.setdefault(category, {}).setdefault(item, []).append(answer)
    found = [
        _agreement(task, category, question, list(items.values()))
        for category, items in sorted(answers.items())
        for question in task.choices
    ]
    if len(answers) > 1:
        every = [item for items in answers.values() for item in items.values()]
        found += [_agreement(task, "all", question, every) for question in task.choices]
    return found


def _agreement(
    task: TaskType, category: str, question: str, items: Sequence[Sequence[Mapping[str, str]]]
) -> QuestionAgreement:
    chosen = [[answer[question] for answer in answers] for answers in items if len(answers) > 1]
    names = sorted({choice for choices in chosen for choice in choices})
    # Points of a scale differ by how far they are apart; other choices only differ or don't.
    scale = all(_is_number(name) for name in names)
    number = {name: float(name) if scale else float(place) for place, name in enumerate(names)}
    table = np.full((len(chosen), max(map(len, chosen), default=2)), np.nan)
    for row, choices in enumerate(chosen):
        table[row, : len(choices)] = [number[choice] for choice in choices]
    difference = "interval" if scale else "nominal"
    return QuestionAgreement(
        category=category,
        question="" if len(task.choices) == 1 else question,
        items=len(chosen),
        answers=sum(map(len, chosen)),
        alpha=if_defined(krippendorff_alpha, table, difference=difference) if chosen else None,
        shares={name: sum(choices.count(name) for choices in chosen) for name in names},
    )


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()
