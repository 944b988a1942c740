"""The page after a try of the training: what was right, and why."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from capeval_server.annotation import training
from capeval_server.annotation.models import Participation
from capeval_server.annotation.tasks import task_named
from capeval_server.errors import AssignmentError
from capeval_server.pages.annotator.choosing import asked
from capeval_server.pages.annotator.entering import for_workers

__all__ = ["go_on", "show_try"]


def show_try(request: HttpRequest, participation: Participation, done: training.Try) -> HttpResponse:
    """The items of a try with their answers."""
    task = task_named(participation.campaign.kind)
    items = [
        {
            **asked(task, item.shown),
            "right": item.right,
            "expected": item.expected.items(),
            "explanation": item.explanation,
        }
        for item in done.items
    ]
    shown = {"campaign": participation.campaign, "done": done, "items": items}
    return render(request, "pages/annotator/training.html", shown)


@require_POST
@for_workers
def go_on(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Goes on after a try: to the work, to the next try, or out."""
    try:
        training.go_on(participation)
    except AssignmentError as error:
        messages.error(request, f"{error}.")
    return redirect("annotate", participation.campaign.slug)
