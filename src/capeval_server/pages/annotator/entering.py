"""Coming into a campaign by a link, or as a user; and agreeing to its texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from capeval_server.annotation import entering
from capeval_server.annotation.models import Campaign, Participation
from capeval_server.errors import AssignmentError, NotFoundError
from capeval_server.pages.markdown import to_html
from capeval_server.pages.texts import title_and_rest

__all__ = ["View", "agree", "enter", "for_workers", "show_texts"]

View = Callable[..., HttpResponseBase]
# As long as a campaign may take; the organiser can revoke a link before.
_COOKIE_SECONDS = 180 * 86_400


def _cookie(campaign: Campaign) -> str:
    return f"annotate-{campaign.pk}"


def for_workers(view: View) -> View:
    """Lets workers of a campaign in, and gives the view their participation in place of its slug."""

    @never_cache
    @wraps(view)
    def answer(request: HttpRequest, slug: str, **named: Any) -> HttpResponseBase:
        return view(request, _participation(request, slug), **named)

    return answer


def _participation(request: HttpRequest, slug: str) -> Participation:
    """Who asks: by the cookie of an invite link, or else as a user.

    Raises:
        NotFoundError: There is no such campaign, or it is not theirs.
    """
    campaign = Campaign.objects.filter(slug=slug).first()
    if campaign is None:
        raise NotFoundError
    token = request.COOKIES.get(_cookie(campaign))
    if token is not None:
        return entering.invited(campaign, token)
    if not isinstance(request.user, User):
        raise NotFoundError
    return entering.enter_as_user(request.user, campaign)


@never_cache
@require_GET
def enter(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Follows an invite link: from then on, the browser is known by a cookie."""
    campaign = Campaign.objects.filter(slug=slug).first()
    if campaign is None:
        raise NotFoundError
    entering.invited(campaign, token)
    answer = redirect("annotate", slug)
    answer.set_cookie(
        _cookie(campaign),
        token,
        max_age=_COOKIE_SECONDS,
        path=f"/annotate/{slug}/",
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )
    return answer


def show_texts(request: HttpRequest, participation: Participation) -> HttpResponse:
    """The page with the instructions, and what one agrees to."""
    texts = entering.latest_texts(participation.campaign)
    title, rest = title_and_rest(texts.instructions)
    shown = {
        "campaign": participation.campaign,
        "number": texts.number,
        "title": title,
        "instructions": to_html(rest),
        "consent": to_html(texts.consent),
    }
    return render(request, "pages/annotator/texts.html", shown)


@require_POST
@for_workers
def agree(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Agrees to the texts that were shown."""
    number = request.POST.get("texts", "")
    try:
        entering.agree(participation, int(number) if number.isdecimal() and len(number) < 9 else 0)
    except AssignmentError as error:
        messages.error(request, f"{error}.")
    return redirect("annotate", participation.campaign.slug)
