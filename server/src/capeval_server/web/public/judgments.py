"""Page of human judgments of a challenge's systems."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from capeval_server.annotation.releases.human_columns import columns_of, rows_of
from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import NotFoundError
from capeval_server.leaderboards.query import may_see

__all__ = ["judgments"]


@require_safe
def judgments(request: HttpRequest, slug: str) -> HttpResponse:
    """Show human judgments, to users with access to one of the leaderboards."""
    challenge = get_object_or_404(Challenge.objects.prefetch_related("phases"), slug=slug)
    if not any(may_see(request.user, phase) for phase in challenge.phases.all()):
        raise NotFoundError
    columns = columns_of(challenge)
    if not columns:
        raise NotFoundError
    context = {"challenge": challenge, "columns": columns, "rows": rows_of(columns)}
    return render(request, "web/public/judgments.html", context)
