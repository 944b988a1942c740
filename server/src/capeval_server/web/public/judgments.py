"""Page of human judgments of a challenge's systems."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from capeval_server.annotation.releases.human_columns import columns_of, rows_of
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.challenges.selectors.access import is_organizer
from capeval_server.core.errors import NotFoundError
from capeval_server.leaderboards.judgments import HumanScoreColumn, exclude_submissions
from capeval_server.leaderboards.query import may_see
from capeval_server.submissions.models import Submission

__all__ = ["judgments"]


@require_safe
def judgments(request: HttpRequest, slug: str) -> HttpResponse:
    """Show human judgments of the systems on the leaderboards that a user may see."""
    challenge = get_object_or_404(Challenge.objects.prefetch_related("phases"), slug=slug)
    phases = [phase for phase in challenge.phases.all() if may_see(request.user, phase)]
    if not phases:
        raise NotFoundError
    columns = columns_of(challenge)
    if not is_organizer(request.user, challenge):
        columns = exclude_submissions(columns, _list_hidden(columns, phases))
    if not columns:
        raise NotFoundError
    context = {"challenge": challenge, "columns": columns, "rows": rows_of(columns)}
    return render(request, "web/public/judgments.html", context)


def _list_hidden(columns: Iterable[HumanScoreColumn], phases: Iterable[Phase]) -> set[str]:
    """Return the judged submissions that organizers hide, or that are in other phases."""
    judged = Submission.objects.filter(pk__in={pk for column in columns for pk in column.by_submission})
    hidden = judged.exclude(phase__in=phases) | judged.filter(mark=Submission.Mark.HIDDEN)
    return {str(pk) for pk in hidden.values_list("pk", flat=True)}
