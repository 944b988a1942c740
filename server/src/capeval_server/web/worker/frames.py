"""Worker pages in the frame of Mechanical Turk: preview, entry, and the form that submits an assignment."""

from __future__ import annotations

import base64
from typing import Any
from uuid import UUID

from django.core.files.storage import default_storage
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from capeval_server.annotation.models import Campaign, Image, Item
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.workers import enrollment, external_questions, panels
from capeval_server.annotation.workers.admission import check_admission
from capeval_server.core.errors import NotFoundError
from capeval_server.http.framing import allow_frames
from capeval_server.web.markdown import to_html
from capeval_server.web.presenters import title_and_rest
from capeval_server.web.worker.choices import build_questions
from capeval_server.web.worker.pictures import picture_of

__all__ = ["allow_turk", "get_submission", "is_preview", "show_missing_cookies", "show_preview"]

_NO_LEASE = UUID(int=0)


def allow_turk(request: HttpRequest, *form_targets: str) -> None:
    """Let the response to a request appear in the frame of Mechanical Turk."""
    allow_frames(request, external_questions.FRAME_ANCESTORS, form_targets)


def get_submission(request: HttpRequest, frame: panels.Frame | None, end: Any) -> dict[str, str]:
    """Return the form that submits an ended assignment, and allow the page to send it.

    Args:
        request: The request for the page.
        frame: The frame; None on other pages.
        end: The end of the session; None if it has not ended.
    """
    if frame is None or end is None or not panels.is_submitted(end.outcome):
        return {}
    allow_turk(request, frame.origin)
    return {"address": external_questions.submit_address(frame.origin), "assignment": frame.assignment}


def is_preview(request: HttpRequest) -> bool:
    """Return whether Mechanical Turk shows an unaccepted HIT."""
    return request.GET.get(external_questions.PARAMETERS["session"]) == external_questions.PREVIEW


def show_preview(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Render the instructions and the first item, without a way to answer it.

    Raises:
        NotFoundError: The campaign is not open yet, or has no item to show.
        AssignmentError: The campaign is only open to others.
    """
    if campaign.state == Campaign.State.DRAFT:
        raise NotFoundError
    check_admission(campaign, "panel")
    items = Item.objects.filter(campaign=campaign, held=False, repeats=None)
    items = items.filter(is_training=False, is_check=False)
    item = items.exclude(image__in=campaign.images.exclude(warning="")).order_by("rank").first()
    if item is None:
        raise NotFoundError
    task = task_named(campaign.kind)
    shown = task.shown(item.payload, mirrored=False)
    title, rest = title_and_rest(enrollment.latest_texts(campaign).instructions)
    context = {
        "campaign": campaign,
        "title": title,
        "instructions": to_html(rest),
        "item": {
            "lease": _NO_LEASE,
            "place": 1,
            "typed": "",
            "revision": 0,
            **shown,
            **(build_questions(task, shown) if task.choices else {}),
        },
        "picture": _embed(item.image) if item.image else None,
        "kind": f"web/worker/_{'judge' if task.choices else 'write'}.html",
    }
    return render(request, "web/worker/preview.html", context)


def _embed(image: Image) -> dict[str, Any]:
    """Return an image as a part of the page, because its address needs an assignment."""
    with default_storage.open(image.small) as file:
        content = base64.b64encode(file.read()).decode()
    return {**picture_of(image), "address": f"data:image/jpeg;base64,{content}"}


def show_missing_cookies(request: HttpRequest, campaign: Campaign) -> HttpResponse | None:
    """Render the reason why a frame shows no work: the browser did not store the cookie.

    None if the page is not in a frame of Mechanical Turk.
    """
    settings = panels.find_settings(campaign)
    framed = request.headers.get("Sec-Fetch-Dest") == "iframe"
    if not framed or settings is None or settings.external_question is None:
        return None
    allow_turk(request)
    return render(request, "web/worker/no_cookies.html", {"campaign": campaign}, status=403)
