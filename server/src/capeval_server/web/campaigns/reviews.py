"""Pages to review answers anonymously. Reviewers do not see their own answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.campaigns.images import send_image
from capeval_server.annotation.models import Campaign, Response
from capeval_server.annotation.review import moderation
from capeval_server.annotation.task_types import TaskType, task_named
from capeval_server.annotation.workers.enrollment import latest_texts
from capeval_server.core.errors import NotFoundError
from capeval_server.web.campaigns.common import for_managers, show
from capeval_server.web.campaigns.forms import ReviewForm
from capeval_server.web.hosting.common import add_success_message
from capeval_server.web.markdown import to_html
from capeval_server.web.presenters import title_and_rest

__all__ = ["image", "review", "reviews"]

# Answers per page.
_PER_PAGE = 10


@for_managers
@require_safe
def reviews(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show the earliest answers to review."""
    return _show_reviews(request, campaign)


def _list_waiting(request: HttpRequest, campaign: Campaign) -> QuerySet[Response]:
    """Return the answers that this user can review."""
    own = Response.objects.filter(item__campaign=campaign, participation__worker__user=get_user(request))
    return moderation.list_review_queue(campaign).exclude(pk__in=own.values("pk"))


def _show_reviews(
    request: HttpRequest, campaign: Campaign, wrong: Response | None = None, form: ReviewForm | None = None
) -> HttpResponse:
    waiting = _list_waiting(request, campaign)
    task = task_named(campaign.kind)
    found = waiting.select_related("item").prefetch_related("review_requests")[:_PER_PAGE]
    shown = [
        {
            "response": response,
            "image": response.item.image_id,
            "shown": _list_texts(task.shown(response.item.payload, mirrored=False)),
            "answer": _render_answer(task, response),
            "reasons": [asked.reason for asked in response.review_requests.all()],
            "form": form if form and response == wrong else ReviewForm(prefix=f"r{response.pk}"),
        }
        for response in (found if task.reviewed else [])
    ]
    _, rest = title_and_rest(latest_texts(campaign).instructions)
    context: dict[str, Any] = {"shown": shown, "waiting": waiting.count(), "instructions": to_html(rest)}
    return show(request, campaign, "reviews", tab="reviews", **context, status=422 if form else 200)


def _list_texts(shown: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of an item that the worker saw, by name."""
    texts = {
        name.capitalize(): ", ".join(value) if isinstance(value, list) else str(value)
        for name, value in shown.items()
    }
    return {name: text for name, text in texts.items() if text}


def _render_answer(task: TaskType, response: Response) -> str:
    if task.written:
        return str(response.answer[task.written])
    chosen = task.in_words(response.item.payload, response.answer, mirrored=False)
    return "; ".join(f"{question}: {choice}" for question, choice in chosen.items())


@for_managers
@require_POST
def review(request: HttpRequest, campaign: Campaign, pk: int) -> HttpResponse:
    """Accept or reject an answer."""
    rows = Response.objects.filter(item__campaign=campaign).select_related("participation__worker")
    found = get_object_or_404(rows, pk=pk)
    form = ReviewForm(request.POST, prefix=f"r{pk}")
    if form.is_valid():
        given = form.cleaned_data
        try:
            moderation.review(
                get_user(request), found, given["verdict"], reason=given["reason"], note=given["note"]
            )
        except CapevalError as error:
            form.add_error("reason", str(error))
        else:
            fine = given["verdict"] == "fine"
            add_success_message(
                request,
                "Accepted the answer." if fine else "Rejected the answer. The item goes to another worker.",
            )
            return redirect("campaign_reviews", campaign.slug)
    if found not in _list_waiting(request, campaign)[:_PER_PAGE]:
        problems = " ".join(str(text) for texts in form.errors.values() for text in texts)
        messages.error(request, f"Not stored: {problems}")
        return redirect("campaign_reviews", campaign.slug)
    return _show_reviews(request, campaign, found, form)


@for_managers
@require_safe
def image(request: HttpRequest, campaign: Campaign, pk: int, size: str) -> HttpResponseBase:  # noqa: ARG001
    """Send the image of an item to a manager of the campaign."""
    picture = get_object_or_404(campaign.images, pk=pk)
    if size not in ("small", "large"):
        raise NotFoundError
    sent = send_image(picture, size)
    sent["Cache-Control"] = "private, max-age=600"
    return sent
