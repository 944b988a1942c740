"""Pages to join a challenge and to manage the user's team."""

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

from capeval_server.accounts.services.users import get_user
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.services.links import has_key
from capeval_server.core.errors import NotFoundError, TeamError
from capeval_server.http.link_keys import get_keys
from capeval_server.submissions.quotas import limits
from capeval_server.teams.models import Membership
from capeval_server.teams.services import enrollment
from capeval_server.teams.services import membership as teams
from capeval_server.web.markdown import to_html
from capeval_server.web.participant.common import TEMPLATES
from capeval_server.web.participant.forms import InvitationForm, JoinForm
from capeval_server.web.public.about import pictures_of

__all__ = ["captions", "join", "leave", "members", "renew_code", "revoke_code", "team"]


@login_required
def join(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the rules, and let the user join the challenge."""
    challenge = get_object_or_404(Challenge, slug=slug)
    if enrollment.team_of(get_user(request), challenge) is not None:
        messages.info(request, "You already take part in this challenge.")
        return redirect("team", slug)
    code = request.GET.get("code", "")
    initial = {"how": "code", "code": code} if code else {}
    form = JoinForm(challenge, request.POST or None, initial=initial)
    if form.is_valid():
        try:
            team = form.join(get_user(request), invited=has_key(challenge, get_keys(request, challenge.pk)))
        except TeamError as error:
            form.refuse(str(error))
        else:
            waits = " An organizer must approve you before you can submit." if challenge.approval else ""
            text = format_html("You take part in {} as <bdi>{}</bdi>.{}", challenge.title, team.name, waits)
            messages.success(request, text)
            return redirect("team", slug)
    context = {
        "challenge": challenge,
        "rules": to_html(challenge.rules, pictures_of(challenge)),
        "form": form,
        "invited": enrollment.invited(challenge, code),
    }
    return render(request, f"{TEMPLATES}/join.html", context, status=422 if form.errors else 200)


@login_required
@never_cache
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the user's team, with its invitation code."""
    challenge = get_object_or_404(Challenge, slug=slug)
    own = enrollment.membership_of(get_user(request), challenge)
    if own is None:
        messages.info(request, "Join the challenge first, alone or in a team.")
        return redirect("join", slug)
    return _show_team(request, challenge, own, InvitationForm(), 200)


def _show_team(
    request: HttpRequest, challenge: Challenge, own: Membership, form: InvitationForm, status: int
) -> HttpResponse:
    found, now = own.team, timezone.now()
    valid = found.code and found.code_expires and found.code_expires > now
    place = f"{reverse('join', args=[challenge.slug])}?{urlencode({'code': found.code})}"
    phases = challenge.phases.filter(closes__gt=now).order_by("opens", "pk")
    submits = own.approved and not challenge.is_archived
    context = {
        "challenge": challenge,
        "team": found,
        "own": own,
        "members": found.memberships.select_related("user").order_by("joined", "pk"),
        "link": request.build_absolute_uri(place) if valid else "",
        "form": form,
        "submitted": found.submissions.exists(),
        "phases": [(phase, limits.quota(found, phase, now)) for phase in phases] if submits else [],
        "shown": [phase for phase in challenge.phases.order_by("opens", "pk") if phase.captions],
        "now": now,
    }
    return render(request, f"{TEMPLATES}/team.html", context, status=status)


def _get_ownership(request: HttpRequest, slug: str) -> Membership:
    """Return the membership of a user as the owner of a team.

    Raises:
        NotFoundError: The user does not own a team.
    """
    own = enrollment.membership_of(get_user(request), get_object_or_404(Challenge, slug=slug))
    if own is None or not own.owner:
        raise NotFoundError
    return own


@login_required
@require_POST
def renew_code(request: HttpRequest, slug: str) -> HttpResponse:
    """Create a new invitation code for the user's team."""
    own = _get_ownership(request, slug)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _show_team(request, own.challenge, own, form, 422)
    enrollment.invite(own.team, form.cleaned_data["days"])
    messages.success(request, "Created a new link and code. Earlier ones no longer work.")
    return redirect("team", slug)


@login_required
@require_POST
def revoke_code(request: HttpRequest, slug: str) -> HttpResponse:
    """Revoke the invitation code of the user's team."""
    enrollment.revoke_invitation(_get_ownership(request, slug).team)
    messages.success(request, "The link and the code no longer work.")
    return redirect("team", slug)


@login_required
@require_POST
def members(request: HttpRequest, slug: str) -> HttpResponse:
    """Remove a member from the user's team, or transfer ownership to a member."""
    own, name = _get_ownership(request, slug), request.POST.get("username", "").replace("\0", "")
    try:
        if request.POST.get("act") == "own":
            teams.transfer_ownership(get_user(request), own.challenge, name)
            text = "<bdi>{}</bdi> now owns the team."
        else:
            teams.remove(get_user(request), own.challenge, name)
            text = "<bdi>{}</bdi> is no longer in the team. The link and the code no longer work."
    except TeamError as error:
        messages.error(request, f"This is not possible: {error}.")
    else:
        messages.success(request, format_html(text, name))
    return redirect("team", slug)


@login_required
@require_POST
def captions(request: HttpRequest, slug: str) -> HttpResponse:
    """Give or withdraw the team's agreement to make its captions public."""
    own, agreed = _get_ownership(request, slug), request.POST.get("act") == "show"
    try:
        teams.set_captions_consent(get_user(request), own.challenge, shows_captions=agreed)
    except TeamError as error:
        messages.error(request, f"This is not possible: {error}.")
    else:
        messages.success(
            request,
            "You agreed to show your captions." if agreed else "You no longer agree to show your captions.",
        )
    return redirect("team", slug)


@login_required
@require_POST
def leave(request: HttpRequest, slug: str) -> HttpResponse:
    """Remove the user from their team."""
    challenge = get_object_or_404(Challenge, slug=slug)
    try:
        teams.leave(get_user(request), challenge)
    except TeamError as error:
        messages.error(request, f"You can't leave: {error}.")
        return redirect("team", slug)
    messages.success(request, "You left the team.")
    return redirect("join", slug)
