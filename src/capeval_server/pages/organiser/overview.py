"""How a challenge goes, what was done, and everything of it."""

from __future__ import annotations

from django.http import FileResponse, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from capeval_server.accounts.users import user_of
from capeval_server.challenges.models import Challenge
from capeval_server.organising import moderation, overview
from capeval_server.organising.export import exported
from capeval_server.organising.probing import LEAST_IMAGES, small_groups, unscored_subsets
from capeval_server.pages.organiser.common import (
    FAILURES,
    LATEST,
    actions_of,
    for_organisers,
    paged,
    show,
)
from capeval_server.submissions.models import UNFINISHED

__all__ = ["export_page", "overview_page", "trail"]


@for_organisers
@require_safe
def overview_page(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """How the challenge goes."""
    failed = moderation.repeatable(challenge, failed=True).annotate(failures=FAILURES)
    waiting = moderation.of_challenge(challenge).filter(state__in=UNFINISHED)
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
    )


@for_organisers
@require_safe
def trail(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """What organisers did."""
    return show(request, challenge, "trail", tab="trail", **paged(request, actions_of(challenge)))


@for_organisers
@require_safe
def export_page(request: HttpRequest, challenge: Challenge) -> FileResponse:
    """Everything of the challenge, as a zip."""
    name = f"{challenge.slug}-{timezone.now():%Y-%m-%d}.zip"
    return FileResponse(
        exported(challenge, user_of(request)),
        as_attachment=True,
        filename=name,
        content_type="application/zip",
    )
