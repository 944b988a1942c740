"""The page after a try of the training: what was right, and why."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from capeval_server.annotation import training
from capeval_server.annotation.models import Participation
from capeval_server.errors import AssignmentError
from capeval_server.pages.annotator.entering import for_workers

__all__ = ["go_on", "show_try"]

# What a part of an item is called, as on the page on which it was answered.
_PARTS = {"reference": "A", "caption": "", "left": "1", "right": "2"}


def show_try(request: HttpRequest, participation: Participation, done: training.Try) -> HttpResponse:
    """The items of a try with their answers."""
    items = [
        {
            "parts": [(_PARTS[name], text) for name, text in item.shown.items() if name in _PARTS],
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
