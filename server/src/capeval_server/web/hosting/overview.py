"""Challenge dashboard, audit log and export."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from capeval_server.accounts.services.users import get_user
from capeval_server.audit.models import Export
from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import ConflictError
from capeval_server.hosting.jobs import open_export, request_export
from capeval_server.hosting.selectors import overview
from capeval_server.hosting.selectors.score_disclosure import LEAST_IMAGES, small_groups, unscored_subsets
from capeval_server.hosting.services import moderation
from capeval_server.hosting.services.deletion import delete_challenge, find_obstacles
from capeval_server.http.range_requests import is_continuation, send_range
from capeval_server.submissions.models import UNFINISHED
from capeval_server.web.hosting.common import (
    FAILURES,
    LATEST,
    actions_of,
    add_success_message,
    errors_as_message,
    for_organizers,
    paginate,
    show,
)

__all__ = ["delete", "export_page", "overview_page", "trail"]


@for_organizers
@require_safe
def overview_page(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """How the challenge goes."""
    failed = moderation.repeatable(challenge, failed=True).annotate(failures=FAILURES)
    waiting = moderation.of_challenge(challenge).filter(state__in=UNFINISHED)
    export = Export.objects.filter(challenge=challenge).first()
    return show(
        request,
        challenge,
        "overview",
        tab="overview",
        phases=overview.phases_of(challenge),
        states=overview.states_of(challenge),
        waiting=waiting.order_by("created")[:LATEST],
        failed=failed.order_by("-created")[:LATEST],
        latest=moderation.of_challenge(challenge).order_by("-created")[:LATEST],
        actions=actions_of(challenge)[:LATEST],
        teams=challenge.teams.count(),
        unapproved=challenge.memberships.filter(approved=False).count(),
        small=small_groups(challenge),
        unscored=unscored_subsets(challenge),
        least=LEAST_IMAGES,
        export=export,
        obstacles=find_obstacles(challenge, export),
    )


@for_organizers
@require_safe
def trail(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Show the audit log of the challenge."""
    return show(request, challenge, "trail", tab="trail", **paginate(request, actions_of(challenge)))


@for_organizers
@require_POST
def delete(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Delete the challenge, if its name is entered as a confirmation."""
    with errors_as_message(request, "Nothing was deleted: "):
        delete_challenge(get_user(request), challenge, request.POST.get("name", "").strip())
        add_success_message(request, f"Deleted the challenge {challenge.slug}.")
        return redirect("home")
    return redirect(f"{reverse('organizer_overview', args=(challenge.slug,))}#delete")


@for_organizers
def export_page(request: HttpRequest, challenge: Challenge) -> HttpResponseBase:
    """Start an export of the whole challenge (POST), or download it as a zip (GET)."""
    user = get_user(request)
    if request.method == "POST":
        request_export(user, challenge)
        add_success_message(request, "The export is being prepared.")
        return redirect(f"{reverse('organizer_overview', args=(challenge.slug,))}#export")
    try:
        found, file = open_export(user, challenge, again=is_continuation(request))
    except ConflictError as error:
        messages.error(request, f"{error}.")
        return redirect(f"{reverse('organizer_overview', args=(challenge.slug,))}#export")
    name = f"{challenge.slug}-{found.created:%Y-%m-%d}.zip"
    return send_range(request, file, name, size=found.size, etag=f'"{found.pk.hex}"')
