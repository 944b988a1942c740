"""Helpers shared by the participant pages."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from capeval_server.accounts.services.users import get_user
from capeval_server.challenges.models import Challenge
from capeval_server.teams.models import Team
from capeval_server.teams.services import enrollment

__all__ = ["TEMPLATES", "member", "no_such_submission"]

TEMPLATES = "web/participant"


def member(request: HttpRequest, challenge: Challenge) -> Team | HttpResponse:
    """Return the user's team, or a redirect if the user is not allowed to submit.

    The redirect leads to the page to join, or to the team's page if the user waits for approval.
    """
    found = enrollment.membership_of(get_user(request), challenge)
    if found is not None and found.approved:
        return found.team
    if found is not None:
        messages.info(request, "An organizer must approve you before you can submit.")
        return redirect("team", challenge.slug)
    messages.info(request, "Join the challenge first, alone or in a team.")
    return redirect("join", challenge.slug)


def no_such_submission(request: HttpRequest) -> HttpResponse:
    """Render the same 404 page for missing and for inaccessible submissions.

    It does not reveal whether the submission exists.
    """
    return render(request, f"{TEMPLATES}/not_found.html", status=404)
