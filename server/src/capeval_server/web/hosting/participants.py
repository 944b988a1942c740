"""Organizer pages of teams, participants and organizers."""

from __future__ import annotations

from django import forms as django_forms
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.http import require_POST, require_safe

from capeval_server.accounts.services.users import get_user
from capeval_server.challenges.models import Challenge
from capeval_server.hosting.selectors import overview
from capeval_server.hosting.services import moderation
from capeval_server.hosting.services import participants as people
from capeval_server.submissions.quotas.limits import QuotaUsage
from capeval_server.submissions.quotas.windows import WindowUsage, list_windows
from capeval_server.teams.models import Team
from capeval_server.web.hosting import forms
from capeval_server.web.hosting.common import (
    LATEST,
    PAGE,
    actions_of,
    add_success_message,
    errors_as_message,
    errors_in_form,
    for_organizers,
    form_status,
    paginate,
    show,
)

__all__ = ["organizers", "participants", "remove_organizer", "team", "teams"]

# Messages after an action on a participant.
_MESSAGES = {
    "approve": "Approved <bdi>{}</bdi>.",
    "remove": "<bdi>{}</bdi> no longer takes part.",
    "block": "Blocked <bdi>{}</bdi>.",
    "unblock": "Unblocked <bdi>{}</bdi>.",
}


@for_organizers
@require_safe
def teams(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """List the teams with their members and quota usage."""
    listed = challenge.teams.prefetch_related("memberships__user").order_by("name")
    listing = paginate(request, listed)
    uses = overview.list_quota_usage(challenge, listing["found"].object_list)
    return show(request, challenge, "teams", tab="teams", teams=uses, **listing)


@for_organizers
def team(request: HttpRequest, challenge: Challenge, pk: int) -> HttpResponse:
    """Show a team, and increase its quota in a phase."""
    found = get_object_or_404(challenge.teams.prefetch_related("memberships__user"), pk=pk)
    form = None
    if request.method == "POST":
        form = forms.QuotaIncreaseForm(challenge, request.POST)
        if form.is_valid():
            given = form.cleaned_data
            chosen = challenge.phases.get(name=given["phase"])
            moderation.raise_quota(
                get_user(request), found, chosen, per_day=given["per_day"], total=given["total"]
            )
            add_success_message(request, f"Changed the team's quota in phase {chosen.name}.")
            return redirect("organizer_team", challenge.slug, pk)
    (use,) = overview.list_quota_usage(challenge, [found])
    return show(
        request,
        challenge,
        "team",
        tab="teams",
        team=found,
        use=use,
        raises=[
            (each, _list_windows(found, each), _create_quota_form(challenge, each, form)) for each in use.uses
        ],
        submissions=moderation.of_challenge(challenge).filter(team=found).order_by("-created")[:PAGE],
        actions=actions_of(challenge).filter(team=found)[:LATEST],
        status=form_status(form) if form else 200,
    )


def _list_windows(team: Team, use: QuotaUsage) -> list[WindowUsage]:
    extra = use.raised.total if use.raised else 0
    return list_windows(team.pk, use.phase, timezone.now(), extra=extra)


def _create_quota_form(
    challenge: Challenge, use: QuotaUsage, sent: django_forms.Form | None
) -> django_forms.Form:
    """Return the form of a phase, with the submitted values if they concern it."""
    if sent is not None and sent.data.get("phase") == use.phase.name:
        return sent
    given = (use.raised.per_day, use.raised.total) if use.raised else (0, 0)
    initial = {"phase": use.phase.name, "per_day": given[0], "total": given[1]}
    return forms.QuotaIncreaseForm(challenge, initial=initial, auto_id=f"id_{use.phase.name}_%s")


@for_organizers
def participants(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """List participants and blocked users; approve, remove, block and unblock them."""
    form = forms.ParticipantForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with errors_in_form(form):
            add_success_message(request, _perform(get_user(request), challenge, form.cleaned_data))
            return redirect("organizer_participants", challenge.slug)
    return show(
        request,
        challenge,
        "participants",
        tab="participants",
        form=form,
        blocking=forms.BlockForm(form.data if form.data.get("act") == "block" else None),
        blocked=people.blocked(challenge),
        waiting=challenge.memberships.filter(approved=False).count(),
        **paginate(request, people.participants(challenge)),
        status=form_status(form),
    )


def _perform(user: User, challenge: Challenge, given: dict[str, str]) -> str:
    """Perform the submitted action, and return a message about it."""
    act, name = given["act"], given["username"]
    if act == "approve_all":
        number = people.approve_all(user, challenge)
        return f"Participants approved: {number}."
    if act == "block":
        people.block(user, challenge, name, given["reason"])
    else:
        done = {"approve": people.approve, "remove": people.remove, "unblock": people.unblock}
        done[act](user, challenge, name)
    return format_html(_MESSAGES[act], name)


@for_organizers
def organizers(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """List the organizers of the challenge, and add one."""
    form = forms.OrganizerForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with errors_in_form(form, "username"):
            added = moderation.add_organizer(get_user(request), challenge, form.cleaned_data["username"])
            add_success_message(request, format_html("<bdi>{}</bdi> is now an organizer.", added.username))
            return redirect("organizer_organizers", challenge.slug)
    shown = challenge.organizers.order_by("username")
    return show(
        request,
        challenge,
        "organizers",
        tab="organizers",
        form=form,
        organizers=shown,
        status=form_status(form),
    )


@for_organizers
@require_POST
def remove_organizer(request: HttpRequest, challenge: Challenge, pk: int) -> HttpResponse:
    """Remove an organizer."""
    removed = get_object_or_404(challenge.organizers, pk=pk)
    with errors_as_message(request):
        moderation.remove_organizer(get_user(request), challenge, removed)
        add_success_message(
            request, format_html("<bdi>{}</bdi> no longer organizes the challenge.", removed.username)
        )
        if removed == request.user and not removed.is_staff:
            return redirect("home")
    return redirect("organizer_organizers", challenge.slug)
