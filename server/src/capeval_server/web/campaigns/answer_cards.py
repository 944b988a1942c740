"""Cards of a campaign's answers: item, answer, state, and the other answers to the item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext

from capeval_server.annotation.models import Campaign, Item, Response, Review
from capeval_server.annotation.releases.judgment_table import UncountedReasons
from capeval_server.annotation.review import moderation
from capeval_server.annotation.review.answer_explorer import list_other_answers
from capeval_server.annotation.task_types import TaskType, task_named, task_of
from capeval_server.annotation.task_types.base import SIDES
from capeval_server.web.campaigns.forms import ReviewForm

__all__ = ["AnswerCard", "build_cards", "list_texts"]


@dataclass(frozen=True, kw_only=True)
class OtherAnswer:
    """Another answer to the item of a card; the worker is empty if it is hidden."""

    text: str
    worker: str
    counted: bool


@dataclass(frozen=True, kw_only=True)
class AnswerCard:
    """An answer on the page of answers.

    Attributes:
        response: The answer.
        shown: Texts of the item that the worker saw, by name.
        text: The caption, or the choices in words; empty if its content was removed.
        waiting: Whether it waits for a review.
        reviewable: Whether the user can review it.
        verdict: The latest verdict; empty without one.
        reason: Reason why it does not count; empty if it counts.
        worker: Pseudonym of the worker; empty if it is hidden.
        reasons: Reasons for a review.
        kept: Broken rules, each with the worker's reason to keep the sentence.
        history: The reviews, latest last.
        others: The other answers to the item.
        form: Form of a review.
    """

    response: Any
    shown: Mapping[str, str]
    text: str
    waiting: bool
    reviewable: bool
    verdict: str
    reason: str
    worker: str
    reasons: list[str]
    kept: list[Mapping[str, str]]
    history: list[Review]
    others: list[OtherAnswer]
    form: ReviewForm = field(repr=False)


def build_cards(
    campaign: Campaign,
    responses: list[Any],
    user: User,
    *,
    shows_workers: bool,
    forms: Mapping[int, ReviewForm] | None = None,
) -> list[AnswerCard]:
    """Return the cards of a page of answers, with a fixed number of queries.

    Workers of answers that wait for a review are hidden, so that reviews are blind.

    Args:
        campaign: The campaign.
        responses: Answers from `list_answers`, with their item, worker, reviews and review requests.
        user: The user who looks at them.
        shows_workers: Whether to show workers, except those of waiting answers.
        forms: Invalid forms by the key of their answer.
    """
    task, reasons = task_named(campaign.kind), UncountedReasons(campaign)
    items = {response.item_id for response in responses}
    queue = moderation.list_review_queue(campaign).filter(item__in=items)
    waiting = set(queue.values_list("pk", flat=True))
    others = list_other_answers(responses)
    cards = []
    for row in responses:
        worker = row.participation.worker
        asked = list(row.review_requests.all())
        cards.append(
            AnswerCard(
                response=row,
                shown=list_texts(campaign, row.item, mirrored=row.assignment.mirrored),
                text=_render_answer(campaign, row, mirrored=row.assignment.mirrored),
                waiting=row.pk in waiting,
                reviewable=task.reviewed
                and not row.redacted
                and user.pk not in (worker.user_id, worker.account_id),
                verdict="" if row.verdict in (None, Review.Verdict.UNDONE) else row.verdict,
                reason="" if row.slot_number is not None else reasons.find(row),
                worker=worker.pseudonym if shows_workers and row.pk not in waiting else "",
                reasons=[each.reason for each in asked],
                kept=[each for each in row.rules.get("findings", ()) if "reason" in each],
                history=list(row.reviews.all()),
                others=[
                    _describe_other(
                        campaign, row, other, shows_worker=shows_workers and other.pk not in waiting
                    )
                    for other in others.get(row.item_id, [])
                    if other.assignment_id != row.assignment_id
                ],
                form=(forms or {}).get(row.pk) or ReviewForm(prefix=f"r{row.pk}"),
            )
        )
    return cards


def _describe_other(campaign: Campaign, row: Response, other: Any, *, shows_worker: bool) -> OtherAnswer:
    other.item = row.item
    return OtherAnswer(
        # On the sides of the card, which another worker may have seen mirrored.
        text=_render_answer(campaign, other, mirrored=row.assignment.mirrored),
        worker=other.participation.worker.pseudonym if shows_worker else "",
        counted=other.slot_number is not None,
    )


def list_texts(campaign: Campaign, item: Item, *, mirrored: bool | None = None) -> dict[str, str]:
    """Return the texts of an item that workers see, by name.

    Args:
        campaign: The campaign.
        item: The item.
        mirrored: Whether a worker saw the sides mirrored; None for no worker, as the sides vary.
    """
    shown = task_of(item, campaign).shown(item.payload, mirrored=bool(mirrored))
    names = dict(zip(SIDES, ("first", "second"), strict=True)) if mirrored is None else {}
    texts = {
        names.get(name, name).capitalize(): ", ".join(value) if isinstance(value, list) else str(value)
        for name, value in shown.items()
    }
    return {name: text for name, text in texts.items() if text}


def _render_answer(campaign: Campaign, row: Response, *, mirrored: bool) -> str:
    if row.redacted or not row.answer:
        return ""
    task: TaskType = task_of(row.item, campaign)
    if task.written:
        return str(row.answer[task.written])
    chosen = task.find_choices(row.item.payload, row.answer, mirrored=mirrored)
    sides = task.shown(row.item.payload, mirrored=mirrored) if task.has_sides else {}
    parts = []
    for name, value in chosen.items():
        question = task.choices[name]
        words = [gettext(question.label)] if len(task.choices) > 1 else []
        words.append(gettext(question.labels[value]))
        # The labels of sides, such as B and C, are of no use without their texts.
        words += [sides[value]] if value in SIDES and value in sides else []
        parts.append(": ".join(words))
    return "; ".join(parts)
