"""Answers of a campaign by state, signal, class, worker and text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery

from capeval_server.annotation.models import Campaign, Response, Review, ReviewRequest
from capeval_server.annotation.review import moderation
from capeval_server.annotation.review.recorded_answers import list_workers_with_signal
from capeval_server.annotation.review.worker_signals import SIGNALS
from capeval_server.annotation.task_types import task_named
from capeval_server.core.errors import CampaignError

__all__ = [
    "STATES",
    "AnswerFilter",
    "annotate_responses",
    "list_answers",
    "list_other_answers",
    "list_signals",
]

STATES = {
    "all": "All answers",
    "waiting": "Waiting for review",
    "accepted": "Accepted",
    "rejected": "Rejected",
    "counted": "Counted",
    "uncounted": "Not counted",
    "training": "Training",
}
"""The states by which answers can be chosen, with their labels. Only `training` includes training items."""

# Texts of items that a search looks at, also the caption of a quiz and of a rating.
_TEXTS = ("first", "second", "caption", "reference")


@dataclass(frozen=True, kw_only=True)
class AnswerFilter:
    """Choice of answers. An empty field chooses all.

    Attributes:
        state: A state of `STATES`.
        signal: Reason for a review, such as a signal.
        category: Class of the item.
        worker: Pseudonym of the worker.
        search: Part of a written caption, of a text of the item, or of its key.
        disagreement: Whether to choose only items with differing counted answers.
        worker_signal: Signal of the workers, of `SIGNALS`, or "any".
    """

    state: str = "all"
    signal: str = ""
    category: str = ""
    worker: str = ""
    search: str = ""
    disagreement: bool = False
    worker_signal: str = ""


def annotate_responses(responses: QuerySet[Response]) -> QuerySet[Any]:
    """Add `slot_number`, `is_revised`, and the latest `verdict` with its `verdict_reason` to answers."""
    later = Response.objects.filter(assignment=OuterRef("assignment"), revision__gt=OuterRef("revision"))
    reviews = Review.objects.filter(response=OuterRef("pk")).order_by("-pk")
    return responses.annotate(
        slot_number=F("filled_slot__number"),
        is_revised=Exists(later),
        verdict=Subquery(reviews.values("verdict")[:1]),
        verdict_reason=Subquery(reviews.values("reason")[:1]),
    )


def list_signals(campaign: Campaign) -> list[str]:
    """Return the reasons for which answers of a campaign were sent to review."""
    rows = ReviewRequest.objects.filter(response__item__campaign=campaign)
    return sorted(rows.order_by().values_list("reason", flat=True).distinct())


def list_answers(campaign: Campaign, asked: AnswerFilter, user: User | None) -> QuerySet[Any]:
    """Return the chosen answers, as annotated by `annotate_responses`.

    Answers that wait for a review come first to last, without the user's own. Others come last to first.
    The user is None for the command line.

    Raises:
        CampaignError: The state or the signal of the workers is unknown.
    """
    if asked.state not in STATES:
        raise CampaignError(f"'state' must be one of {', '.join(STATES)} (got {asked.state!r})")
    rows = annotate_responses(Response.objects.filter(item__campaign=campaign))
    rows = rows.filter(**_list_conditions(asked))
    if asked.search:
        rows = rows.filter(_match_text(campaign, asked.search))
    if asked.signal:
        of_signal = ReviewRequest.objects.filter(response=OuterRef("pk"), reason=asked.signal)
        rows = rows.filter(Exists(of_signal))
    if asked.worker_signal:
        known = ("any", *SIGNALS)
        if asked.worker_signal not in known:
            raise CampaignError(
                f"'worker_signal' must be one of {', '.join(known)} (got {asked.worker_signal!r})"
            )
        rows = rows.filter(participation__in=list_workers_with_signal(campaign, asked.worker_signal))
    if asked.disagreement:
        counted = Response.objects.filter(item__campaign=campaign, filled_slot__isnull=False)
        differing = counted.order_by().values("item").annotate(answers=Count("digest", distinct=True))
        rows = rows.filter(item__in=differing.filter(answers__gt=1).values("item"))
    if asked.state != "waiting":
        return rows.order_by("-pk")
    rows = rows.filter(pk__in=moderation.list_review_queue(campaign).values("pk"))
    if user is not None:
        rows = rows.exclude(Q(participation__worker__user=user) | Q(participation__worker__account=user))
    return rows.order_by("pk")


def _list_conditions(asked: AnswerFilter) -> Mapping[str, Any]:
    states: dict[str, dict[str, Any]] = {
        "accepted": {"verdict": Review.Verdict.FINE},
        "rejected": {"verdict": Review.Verdict.REJECTED},
        "counted": {"filled_slot__isnull": False},
        "uncounted": {"filled_slot__isnull": True},
    }
    names = {"item__category": asked.category, "participation__worker__pseudonym": asked.worker}
    chosen = {name: value for name, value in names.items() if value}
    return {"item__is_training": asked.state == "training", **states.get(asked.state, {}), **chosen}


def _match_text(campaign: Campaign, text: str) -> Q:
    names = [f"item__payload__{name}" for name in _TEXTS]
    if written := task_named(campaign.kind).written:
        names.append(f"answer__{written}")
    matches = Q(item__key__icontains=text)
    for name in names:
        matches |= Q(**{f"{name}__icontains": text})
    return matches


def list_other_answers(responses: list[Any]) -> dict[int, list[Any]]:
    """Return the newest answers of all workers to the items of some answers, by item.

    Items with a known answer have none, because all workers answer them.
    """
    items = {response.item_id for response in responses if not response.item.is_check}
    rows = annotate_responses(Response.objects.filter(item__in=items, redacted="")).filter(is_revised=False)
    found: dict[int, list[Any]] = {}
    for row in rows.select_related("participation__worker").order_by("item_id", "pk"):
        found.setdefault(row.item_id, []).append(row)
    return found
