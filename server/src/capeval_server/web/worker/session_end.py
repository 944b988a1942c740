"""Endpoint with which panel workers end their session."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from capeval_server.annotation.models import Participation
from capeval_server.annotation.responses import session_end
from capeval_server.core.errors import AssignmentError
from capeval_server.web.worker.enrollment import for_workers

__all__ = ["finish"]


@require_POST
@for_workers
def finish(request: HttpRequest, participation: Participation) -> HttpResponse:
    """End the session. The work page then shows the completion code."""
    try:
        session_end.end_session(participation, request.POST.get("outcome", ""))
    except AssignmentError as error:
        messages.error(request, f"{error}.")
    return redirect("annotate", participation.campaign.slug)
