"""Enrollment in a campaign by link, panel or account, and consent to its texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from capeval.errors import CapevalError
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Campaign, Participation
from capeval_server.annotation.responses import content_warnings
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.workers import enrollment, panels, training
from capeval_server.core.errors import AssignmentError, EntryError, NotFoundError
from capeval_server.http.error_pages import STATUSES
from capeval_server.web.markdown import to_html
from capeval_server.web.presenters import title_and_rest
from capeval_server.web.worker import frames
from capeval_server.web.worker.language import in_campaign_language

__all__ = [
    "View",
    "agree",
    "enter",
    "enter_from_panel",
    "find_frame",
    "for_leaving_workers",
    "for_workers",
    "or_sign_in",
    "refused",
    "show_texts",
    "warnings",
]

View = Callable[..., HttpResponseBase]
# As long as a campaign may last. Organizers can revoke a link earlier.
_COOKIE_SECONDS = 180 * 86_400


_COOKIE_PREFIX = "annotate-"


def _cookie_name(campaign: Campaign) -> str:
    return f"{_COOKIE_PREFIX}{campaign.pk}"


def or_sign_in(view: View) -> View:
    """Let visitors without a link's cookie sign in first, also if there is no such campaign."""

    @never_cache
    @wraps(view)
    def wrapper(request: HttpRequest, **named: Any) -> HttpResponseBase:
        # The path of a link's cookie is that of its campaign. Frames show what to do without a cookie.
        invited = any(name.startswith(_COOKIE_PREFIX) for name in request.COOKIES)
        framed = request.headers.get("Sec-Fetch-Dest") == "iframe"
        if request.user.is_authenticated or invited or framed:
            return view(request, **named)
        messages.info(request, "Sign in to take part. If you have an invite link, open it again instead.")
        return redirect_to_login(request.get_full_path())

    return wrapper


def for_workers(view: View) -> View:
    """Restrict a view to workers of a campaign, and pass it their participation."""
    return _restrict(view, apart=True)


def for_leaving_workers(view: View) -> View:
    """Like `for_workers`, but also admit workers that may no longer work."""
    return _restrict(view, apart=False)


def _restrict(view: View, *, apart: bool) -> View:
    @never_cache
    @in_campaign_language
    @wraps(view)
    def wrapper(request: HttpRequest, campaign: Campaign, **named: Any) -> HttpResponseBase:
        if find_frame(request, campaign) is not None:
            frames.allow_turk(request)
        try:
            participation = _get_participation(request, campaign)
            if apart:
                enrollment.check_conflicts(participation, _get_account(request))
        except AssignmentError as error:
            return refused(request, campaign, error)
        except NotFoundError:
            answer = frames.show_missing_cookies(request, campaign)
            if answer is None:
                raise
            return answer
        return view(request, participation, **named)

    return wrapper


def refused(request: HttpRequest, campaign: Campaign, error: CapevalError) -> HttpResponse:
    """Render a page with the reason why a person is not admitted."""
    shown = {"campaign": campaign, "why": error}
    return render(request, "web/worker/refused.html", shown, status=STATUSES[type(error)])


def _get_participation(request: HttpRequest, campaign: Campaign) -> Participation:
    """Return the participation of a link's cookie or of the signed-in user.

    Raises:
        NotFoundError: There is no such participation.
        AssignmentError: The worker has left the campaign.
    """
    token = request.COOKIES.get(_cookie_name(campaign))
    if token is not None:
        return _link_account(request, enrollment.get_invited(campaign, token))
    if not isinstance(request.user, User):
        raise NotFoundError
    return enrollment.enter_as_user(request.user, campaign)


def find_frame(request: HttpRequest, campaign: Campaign) -> panels.Frame | None:
    """Return the assignment of Mechanical Turk in which a worker sees the page; None for other workers."""
    return panels.find_frame(request.COOKIES.get(_cookie_name(campaign), ""))


def _get_account(request: HttpRequest) -> User | None:
    return request.user if isinstance(request.user, User) else None


def _link_account(request: HttpRequest, participation: Participation) -> Participation:
    """Link a participation to the signed-in user, if any."""
    account = _get_account(request)
    if account is not None:
        enrollment.link_visitor(participation, account)
    return participation


@never_cache
@require_GET
@in_campaign_language
def enter(request: HttpRequest, campaign: Campaign, token: str) -> HttpResponse:
    """Follow an invite link, and remember its token in a cookie."""
    try:
        participation = enrollment.get_invited(campaign, token)
        if participation.stage == Participation.Stage.INVITED:
            # The cookie of another link of this person must not be replaced.
            enrollment.check_conflicts(participation, _get_account(request))
    except AssignmentError as error:
        return refused(request, campaign, error)
    answer = _set_cookie(campaign, token)
    # A link can be for several campaigns.
    for other in enrollment.list_invited(token):
        _add_cookie(answer, other, token)
    return answer


@never_cache
@require_GET
@in_campaign_language
def enter_from_panel(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Follow a panel's link, and redirect to a URL without the panel's ids."""
    given = request.GET.dict()
    framed = panels.panel_settings(campaign).external_question is not None
    if framed:
        frames.allow_turk(request)
    try:
        if framed and frames.is_preview(request):
            return frames.show_preview(request, campaign)
        participation = panels.enter(campaign, given)
    except (AssignmentError, EntryError) as error:
        return refused(request, campaign, error)
    token = panels.frame_token_of(participation, given) if framed else panels.token_of(participation)
    return _set_cookie(campaign, token)


def _set_cookie(campaign: Campaign, token: str) -> HttpResponse:
    answer = redirect("annotate", campaign.slug)
    _add_cookie(answer, campaign, token)
    return answer


def _add_cookie(answer: HttpResponse, campaign: Campaign, token: str) -> None:
    answer.set_cookie(
        _cookie_name(campaign),
        token,
        max_age=_COOKIE_SECONDS,
        path=f"/annotate/{campaign.slug}/",
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


def show_texts(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Render the page with the instructions and the consent text."""
    texts = enrollment.latest_texts(participation.campaign)
    title, rest = title_and_rest(texts.instructions)
    shown = {
        "campaign": participation.campaign,
        "number": texts.number,
        "title": title,
        "instructions": to_html(rest),
        "consent": to_html(texts.consent),
        "study": get_options(participation.campaign),
        "images": task_named(participation.campaign.kind).needs_image,
        "judges_challenge": enrollment.judges_challenge(participation.campaign),
        "avoids": participation.avoids_warnings,
        "again": participation.consented_to_id is not None,
        "training": training.plan_training(participation.campaign),
        "from_panel": panels.open_session(participation) is not None,
    }
    return render(request, "web/worker/texts.html", shown)


@require_POST
@for_workers
def agree(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Record the agreement to the displayed texts."""
    number = request.POST.get("texts", "")
    try:
        enrollment.agree(participation, int(number) if number.isdecimal() and len(number) < 9 else 0)
        if task_named(participation.campaign.kind).needs_image:
            content_warnings.avoid_warnings(participation, avoid=request.POST.get("avoid") == "on")
    except AssignmentError as error:
        messages.error(request, f"{error}.")
    return redirect("annotate", participation.campaign.slug)


@require_POST
@for_workers
def warnings(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Set whether the worker avoids images with a content warning."""
    avoid = request.POST.get("avoid") == "on"
    try:
        content_warnings.avoid_warnings(participation, avoid=avoid)
    except AssignmentError as error:
        messages.error(request, f"{error}.")
    else:
        avoided = gettext("You will not see images with a warning.")
        messages.success(request, avoided if avoid else gettext("You may see images with a warning."))
    return redirect("annotate", participation.campaign.slug)
