"""Pages of a team's submissions and of a single submission."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from capeval.formats.result_files import ALGORITHM
from capeval.toolkit import escape_row
from capeval_server.challenges.models import Challenge, Phase, ReferenceSet, Split
from capeval_server.challenges.selectors.access import is_organizer
from capeval_server.core.errors import NotFoundError, SubmissionStateError
from capeval_server.jobs.leases import database_time
from capeval_server.submissions.models import UNFINISHED, Submission
from capeval_server.submissions.selectors import image_browser, scores, visibility
from capeval_server.submissions.selectors.queue import (
    ScoringProgress,
    ahead_of,
    expected_wait,
    scoring_of,
    workers_run,
)
from capeval_server.submissions.services.leaderboard_selection import set_standing
from capeval_server.submissions.services.lifecycle import withdraw
from capeval_server.submissions.services.standing import is_automatic, is_settled
from capeval_server.teams.models import Team
from capeval_server.web import presenters
from capeval_server.web.participant.common import TEMPLATES, member, no_such_submission
from capeval_server.web.participant.placements import placings
from capeval_server.web.participant.results import join_tables

__all__ = ["download", "stand", "state", "submission", "submissions", "take_back"]

_PER_PAGE = 25
# Seconds between announcements of the elapsed scoring time.
_ANNOUNCE_SECONDS = 10


@login_required
@never_cache
def submissions(request: HttpRequest, slug: str) -> HttpResponse:
    """List the submissions of the user's team to a phase, with `format=csv` all of them as CSV."""
    challenge = get_object_or_404(Challenge.objects.prefetch_related("phases"), slug=slug)
    team = member(request, challenge)
    if isinstance(team, HttpResponse):
        return team
    phases = sorted(challenge.phases.all(), key=lambda phase: (phase.opens, phase.pk))
    last = team.submissions.order_by("-created").select_related("phase").first()
    phase = next((one for one in phases if one.name == request.GET.get("phase")), None)
    phase = phase or (last.phase if last else None) or (phases[0] if phases else None)
    if phase is not None and request.GET.get("format") == "csv":
        answer = HttpResponse(_render_csv(request, team, phase), content_type="text/csv; charset=utf-8")
        name = f"{slug}-{phase.name}-submissions.csv"
        answer["Content-Disposition"] = f'attachment; filename="{name}"'
        return answer
    context: dict[str, Any] = {"challenge": challenge, "team": team, "phases": phases, "phase": phase}
    if phase is not None:
        context |= _list_page(request, team, phase)
        context["accepts"] = phase.get_state(timezone.now()) == "open" and not challenge.is_archived
    return render(request, f"{TEMPLATES}/submissions.html", context)


def _filter_submissions(team: Team, phase: Phase) -> QuerySet[Submission]:
    return team.submissions.filter(phase=phase).select_related("user").order_by("-created", "pk")


def _list_page(request: HttpRequest, team: Team, phase: Phase) -> dict[str, Any]:
    page = Paginator(_filter_submissions(team, phase), _PER_PAGE).get_page(request.GET.get("page"))
    columns, rows, withheld = _list_scores(request, phase, page.object_list)
    return {"page": page, "columns": columns, "rows": rows, "withheld": withheld}


def _list_scores(
    request: HttpRequest, phase: Phase, listed: Iterable[Submission]
) -> tuple[Sequence[tuple[Split, ReferenceSet]], list[dict[str, Any]], bool]:
    """Return the columns of scores, the rows of submissions, and whether scores are withheld."""
    listed = list(listed)
    splits = list(phase.splits.defer("image_ids").prefetch_related("reference_sets").order_by("name"))
    columns = [
        (split, references)
        for split in splits
        for references in sorted(split.reference_sets.all(), key=lambda one: one.pk)
    ]
    withheld = phase.withholds_scores and not is_organizer(request.user, phase.challenge)
    columns = [] if withheld else columns
    headline = {} if withheld else scores.headline(listed, splits)
    rows = [
        {
            "submission": submission,
            "scores": [headline.get(submission.pk, {}).get(references.pk) for _, references in columns],
        }
        for submission in listed
    ]
    return columns, rows, withheld


def _render_csv(request: HttpRequest, team: Team, phase: Phase) -> str:
    columns, rows, withheld = _list_scores(request, phase, _filter_submissions(team, phase))
    declared = [field.name for field in phase.challenge.declared_fields]
    out = io.StringIO()
    writer = csv.writer(out)
    names = [f"{split.sort_by} ({split.name} {references.name})" for split, references in columns]
    place = "chosen" if withheld else "on the leaderboard"
    writer.writerow(
        escape_row(["id", "submitted", "by", "state", "mark", place, "algorithm", *declared, *names])
    )
    for row in rows:
        found: Submission = row["submission"]
        chosen = found.choice == Submission.Choice.CHOSEN
        is_placed = chosen if withheld else found.stands and found.mark != Submission.Mark.HIDDEN
        texts = [str(found.pk), found.created.isoformat(), found.user.get_username() if found.user else ""]
        texts += [found.state, found.mark, "yes" if is_placed else "no", found.algorithm]
        texts += [str(found.declared.get(name, "")) for name in declared]
        texts += ["" if score is None else repr(score) for score in row["scores"]]
        writer.writerow(escape_row(texts))
    return out.getvalue()


@require_safe
@never_cache
def submission(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show a submission: all details to its team, published data to others."""
    found = visibility.get_visible(request.user, pk)
    if found is None:
        return no_such_submission(request)
    context = _build_context(request, *found)
    if context["own"]:
        context["team"] = found[0].team
    return render(request, f"{TEMPLATES}/submission.html", context)


def _build_context(request: HttpRequest, submission: Submission, own: bool) -> dict[str, Any]:
    withheld = visibility.withholds_scores(request.user, submission)
    tables = [] if withheld else scores.score_tables(submission)
    current = [table for table in tables if not table.stale]
    files = submission.files.select_related("split").defer("split__image_ids").order_by("split__name")
    phase = submission.phase
    unfinished = submission.state in UNFINISHED
    ahead = ahead_of(submission) if submission.state == Submission.State.WAITING else 0
    now = database_time()
    scoring = scoring_of(submission, now) if submission.state == Submission.State.RUNNING else None
    alone = unfinished and not workers_run(now)
    return {
        "submission": submission,
        "challenge": submission.challenge,
        "phase": phase,
        "own": own,
        "withheld": withheld,
        # The best one of several is on the leaderboard, so this would reveal their order.
        "stands": submission.choice == Submission.Choice.CHOSEN if withheld else submission.stands,
        "settled": phase is not None and is_settled(phase),
        "automatic": own and phase is not None and _is_automatic(phase, submission),
        "results": join_tables(current),
        "placings": placings(submission, current, timezone.now()),
        "stale_results": join_tables([table for table in tables if table.stale]),
        "declared": [
            (presenters.label(name), value)
            for name, value in (
                submission.declared if own else submission.challenge.shown(submission.declared)
            ).items()
        ],
        "browsable": tables and image_browser.splits_of(submission),
        "files": files if own else [],
        "sent_unchanged": not any(file.id_rule for file in files),
        "unfinished": unfinished,
        "ahead": ahead,
        "wait": presenters.wait(expected_wait(ahead, now)) if ahead else "",
        "scoring": scoring,
        "elapsed": presenters.elapsed(scoring.elapsed) if scoring else "",
        "no_worker": alone,
        "seen": _state_key(submission, ahead, scoring, alone=alone),
        "everybody_sees": phase.shows_leaderboard(timezone.now()) if phase else True,
    }


def _is_automatic(phase: Phase, submission: Submission) -> bool:
    return is_automatic(phase, Submission.objects.filter(phase=phase, team=submission.team_id))


def _state_key(submission: Submission, ahead: int, scoring: ScoringProgress | None, *, alone: bool) -> str:
    """Return a key of the displayed state, which changes when the page must update."""
    # Changes of only the elapsed time are announced rarely.
    far = ""
    if scoring:
        far = f"-{scoring.number}-{scoring.work}-{int(scoring.elapsed / _ANNOUNCE_SECONDS)}"
    return f"{submission.state}-{ahead}{far}{'-alone' if alone else ''}"


@require_safe
@never_cache
def state(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render the part of a submission's page that changes during scoring."""
    found = visibility.get_visible(request.user, pk)
    if found is None:
        raise NotFoundError
    context = _build_context(request, *found)
    if request.GET.get("seen") == context["seen"]:
        # Nothing changed, so screen readers announce nothing.
        return HttpResponse(status=204)
    return render(request, f"{TEMPLATES}/_state.html", {**context, "part": True})


def _get_own_submission(request: HttpRequest, pk: UUID) -> Submission:
    return get_object_or_404(visibility.list_own(request.user), pk=pk)


@login_required
@require_POST
def stand(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Add a submission to the leaderboard, remove it, or leave the choice to the scores."""
    stands = {"yes": True, "best": None}.get(request.POST.get("stands", ""), False)
    submission = _get_own_submission(request, pk)
    phase = submission.phase
    try:
        set_standing(submission, stands)
    except SubmissionStateError as error:
        messages.error(request, f"This is not possible: {error}.")
    else:
        place = "chosen" if phase is not None and phase.withholds_scores else "on the leaderboard"
        if stands is None:
            messages.success(request, "Your team's choices were dropped.")
        else:
            messages.success(request, f"The submission is {'now' if stands else 'no longer'} {place}.")
    return redirect("submission", pk)


@login_required
@require_POST
def take_back(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Withdraw a submission."""
    try:
        withdraw(_get_own_submission(request, pk))
    except SubmissionStateError as error:
        messages.error(request, f"This is not possible: {error}.")
    else:
        messages.success(request, "The submission has been withdrawn.")
    return redirect("submission", pk)


@login_required
@require_safe
@never_cache
def download(request: HttpRequest, pk: UUID, split: str) -> HttpResponseBase:
    """Send a file that the user's team uploaded."""
    found = _get_own_submission(request, pk)
    file = get_object_or_404(found.files.select_related("split"), split__name=split)
    name = file.split.results.replace(ALGORITHM, found.algorithm)
    return FileResponse(
        file.file.open("rb"), as_attachment=True, filename=name, content_type="application/json"
    )
