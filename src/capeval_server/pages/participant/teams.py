"""The pages to join a challenge, and the page of the user's team."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from capeval_server.accounts.users import user_of
from capeval_server.challenges.models import Challenge
from capeval_server.errors import NotFoundError, TeamError
from capeval_server.pages.markdown import to_html
from capeval_server.pages.participant.common import TEMPLATES, member
from capeval_server.pages.participant.forms import JoinForm
from capeval_server.submissions import quotas
from capeval_server.teams import joining

__all__ = ["join", "leave", "renew_code", "team"]


@login_required
def join(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows the rules, and has the user take part."""
    challenge = get_object_or_404(Challenge, slug=slug)
    if joining.team_of(user_of(request), challenge) is not None:
        messages.info(request, "You already take part in this challenge.")
        return redirect("team", slug)
    code = request.GET.get("code", "")
    initial = {"how": "code", "code": code} if code else {}
    form = JoinForm(challenge, request.POST or None, initial=initial)
    if form.is_valid():
        try:
            team = form.join(user_of(request))
        except TeamError as error:
            form.refuse(str(error))
        else:
            text = format_html("You take part in {} as <bdi>{}</bdi>.", challenge.title, team.name)
            messages.success(request, text)
            return redirect("team", slug)
    context = {
        "challenge": challenge,
        "rules": to_html(challenge.rules),
        "form": form,
        "invited": joining.invited(challenge, code),
    }
    return render(request, f"{TEMPLATES}/join.html", context, status=422 if form.errors else 200)


@login_required
@never_cache
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """The user's team, and how others join it."""
    challenge = get_object_or_404(Challenge, slug=slug)
    found = member(request, challenge)
    if isinstance(found, HttpResponse):
        return found
    link = request.build_absolute_uri(f"{reverse('join', args=[slug])}?{urlencode({'code': found.code})}")
    now = timezone.now()
    phases = challenge.phases.filter(closes__gt=now).order_by("opens", "pk")
    context = {
        "challenge": challenge,
        "team": found,
        "members": found.memberships.select_related("user").order_by("joined", "pk"),
        "link": link,
        "may_leave": not found.submissions.exists(),
        "phases": [(phase, quotas.quota(found, phase, now)) for phase in phases],
        "now": now,
    }
    return render(request, f"{TEMPLATES}/team.html", context)


@login_required
@require_POST
def renew_code(request: HttpRequest, slug: str) -> HttpResponse:
    """Gives the user's team another code."""
    found = joining.team_of(user_of(request), get_object_or_404(Challenge, slug=slug))
    if found is None:
        raise NotFoundError
    joining.renew_code(found)
    messages.success(request, "The team has a new code. The old code and link no longer work.")
    return redirect("team", slug)


@login_required
@require_POST
def leave(request: HttpRequest, slug: str) -> HttpResponse:
    """Takes the user out of their team."""
    challenge = get_object_or_404(Challenge, slug=slug)
    try:
        joining.leave(user_of(request), challenge)
    except TeamError as error:
        messages.error(request, f"You can't leave: {error}.")
        return redirect("team", slug)
    messages.success(request, "You left the team.")
    return redirect("join", slug)
