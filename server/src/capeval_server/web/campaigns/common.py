"""Helpers shared by the pages of campaign managers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.campaigns.lifecycle import get_managed_campaign
from capeval_server.annotation.models import Campaign, Participation
from capeval_server.annotation.review import moderation
from capeval_server.annotation.task_types import task_named
from capeval_server.challenges.selectors.access import is_organizer
from capeval_server.core.errors import NotFoundError

__all__ = ["View", "for_managers", "show", "worker_of"]

View = Callable[..., HttpResponseBase]


def for_managers(view: View) -> View:
    """Restrict a view to managers of a campaign, and pass it the campaign."""

    @never_cache
    @wraps(view)
    def wrapper(request: HttpRequest, slug: str, **named: Any) -> HttpResponseBase:
        if not isinstance(request.user, User):
            raise NotFoundError
        return view(request, get_managed_campaign(request.user, slug), **named)

    return wrapper


def show(
    request: HttpRequest, campaign: Campaign, page: str, *, status: int = 200, **context: Any
) -> HttpResponse:
    """Render a page of a campaign's managers, by the name of its template."""
    context = {
        "campaign": campaign,
        "task": task_named(campaign.kind),
        "challenge": campaign.challenge,
        "organizes": campaign.challenge is not None and is_organizer(get_user(request), campaign.challenge),
        "to_review": moderation.list_review_queue(campaign).count(),
        "now": timezone.now(),
        **context,
    }
    return render(request, f"web/campaigns/{page}.html", context, status=status)


def worker_of(campaign: Campaign, pseudonym: str) -> Participation:
    """Return the worker of a campaign with a pseudonym.

    Raises:
        Http404: There is no such worker.
    """
    rows = campaign.participations.select_related("worker", "campaign")
    return get_object_or_404(rows, worker__pseudonym=pseudonym)
