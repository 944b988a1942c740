"""Organizer page of a challenge's campaigns."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from capeval_server.annotation.campaigns.progress import with_counts
from capeval_server.challenges.models import Challenge
from capeval_server.web.hosting.common import for_organizers, show

__all__ = ["campaigns"]


@for_organizers
@require_safe
def campaigns(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """List the campaigns of the challenge."""
    found = with_counts(challenge.campaigns.all())
    return show(request, challenge, "campaigns", tab="campaigns", campaigns=found)
