"""What all pages of who manages a campaign use."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from capeval_server.accounts.services.users import user_of
from capeval_server.annotation.campaigns.lifecycle import managed
from capeval_server.annotation.models import Campaign, Participation
from capeval_server.annotation.review import moderation
from capeval_server.annotation.task_types import task_named
from capeval_server.challenges.selectors.access import organizes
from capeval_server.core.errors import NotFoundError

__all__ = ["View", "for_managers", "show", "worker_of"]

View = Callable[..., HttpResponseBase]


def for_managers(view: View) -> View:
    """Lets those in who manage a campaign, and gives the view the campaign in place of its slug."""

    @never_cache
    @wraps(view)
    def answer(request: HttpRequest, slug: str, **named: Any) -> HttpResponseBase:
        if not isinstance(request.user, User):
            raise NotFoundError
        return view(request, managed(request.user, slug), **named)

    return answer


def show(
    request: HttpRequest, campaign: Campaign, page: str, *, status: int = 200, **context: Any
) -> HttpResponse:
    """A page of a campaign's managers, by the name of its template."""
    context = {
        "campaign": campaign,
        "task": task_named(campaign.kind),
        "challenge": campaign.challenge,
        "organizes": campaign.challenge is not None and organizes(user_of(request), campaign.challenge),
        "to_review": moderation.queue(campaign).count(),
        "now": timezone.now(),
        **context,
    }
    return render(request, f"web/campaigns/{page}.html", context, status=status)


def worker_of(campaign: Campaign, pseudonym: str) -> Participation:
    """The worker of a campaign with a pseudonym; raises `Http404` if there is none."""
    rows = campaign.participations.select_related("worker", "campaign")
    return get_object_or_404(rows, worker__pseudonym=pseudonym)
