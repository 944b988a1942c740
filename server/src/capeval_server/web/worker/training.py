"""Page with the result of a training attempt: correct answers and explanations."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from capeval_server.annotation.models import Participation
from capeval_server.annotation.workers import training
from capeval_server.core.errors import AssignmentError
from capeval_server.web.worker.choices import build_questions
from capeval_server.web.worker.enrollment import for_workers
from capeval_server.web.worker.pictures import picture_of

__all__ = ["go_on", "show_try"]


def show_try(
    request: HttpRequest, participation: Participation, done: training.TrainingAttempt
) -> HttpResponse:
    """Render the items of a training attempt with their answers."""
    items = [
        {
            **build_questions(item.task, item.shown),
            "lease": item.lease,
            "place": place,
            "image": picture_of(item.image) if item.image is not None and not item.held else None,
            "right": item.right,
            "given": item.given.items(),
            "written": item.written,
            "findings": item.findings,
            "expected": item.expected.items(),
            "explanation": item.explanation,
        }
        for place, item in enumerate(done.items, 1)
    ]
    shown = {"campaign": participation.campaign, "done": done, "items": items, "number": len(items)}
    return render(request, "web/worker/training.html", shown)


@require_POST
@for_workers
def go_on(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Continue after a training attempt.

    Depending on the result, the worker continues with the campaign's items, another attempt or practice, or
    is screened out.
    """
    try:
        training.continue_training(participation)
    except AssignmentError as error:
        messages.error(request, f"{error}.")
    return redirect("annotate", participation.campaign.slug)
