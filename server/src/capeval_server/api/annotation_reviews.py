"""Operations to review the answers of a campaign."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Schema

from capeval_server.annotation.models import Response
from capeval_server.annotation.review import moderation
from capeval_server.annotation.task_types import task_named
from capeval_server.api.annotation_common import (
    PAGE_SIZE,
    Note,
    Start,
    create_router,
    find_row,
    get_campaign,
)
from capeval_server.api.authentication import token_of
from capeval_server.api.path_parameters import Number, Slug
from capeval_server.api.schemas import Problem, RequestBody

__all__ = ["router"]

router = create_router()


class ReviewItem(Schema):
    """An answer to review. It does not identify the worker."""

    id: int
    reasons: list[str]
    item: dict[str, Any]
    answer: dict[str, Any]


class Queue(Schema):
    """At most 200 answers to review, earliest first. `count` is the number of all answers to review."""

    count: int
    answers: list[ReviewItem]


class Verdict(RequestBody):
    """Decision of a reviewer."""

    verdict: Literal["fine", "rejected"]
    reason: Literal["", "wrong image", "rule broken", "nonsense", "copied", "other language", "offensive"] = (
        ""
    )
    note: Note = ""


class Reviewed(Schema):
    """Number of answers left to review."""

    waiting: int


@router.get("/{slug}/reviews", response={200: Queue, (403, 404): Problem})
def reviews(request: HttpRequest, slug: Slug, after: Start = 0) -> Any:
    """List at most 200 answers to review, those with an id greater than `after`."""
    campaign = get_campaign(request, slug)
    found = moderation.list_review_queue(campaign)
    page = found.filter(pk__gt=after).select_related("item")
    task = task_named(campaign.kind)
    rows = [
        {
            "id": response.pk,
            "reasons": [request.reason for request in response.review_requests.all()],
            "item": task.shown(response.item.payload, mirrored=False),
            "answer": response.answer,
        }
        for response in page.prefetch_related("review_requests")[:PAGE_SIZE]
    ]
    return {"count": found.count(), "answers": rows}


@router.post("/{slug}/reviews/{response_id}", response={200: Reviewed, (403, 404, 422): Problem})
def review(request: HttpRequest, slug: Slug, response_id: Number, given: Verdict) -> Any:
    """Accept or reject an answer."""
    campaign = get_campaign(request, slug)
    rows = Response.objects.filter(item__campaign=campaign).select_related("participation__worker")
    found = find_row(rows, f"answer {response_id}", pk=response_id)
    moderation.review(token_of(request).user, found, given.verdict, reason=given.reason, note=given.note)
    return {"waiting": moderation.list_review_queue(campaign).count()}
