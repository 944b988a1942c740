"""What those who take part do: join, submit, watch, look at scores and examples, decide what stands."""

from __future__ import annotations

import logging
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from capeval_server import errors
from capeval_server.challenges.models import ALGORITHM, Challenge, Phase
from capeval_server.pages import texts
from capeval_server.pages.browsing import urlpatterns as browsing
from capeval_server.pages.labels import label
from capeval_server.pages.markdown import to_html
from capeval_server.pages.participant_forms import JoinForm, SubmitForm
from capeval_server.pages.placings import placings
from capeval_server.submissions import image_browser, intake, showing
from capeval_server.submissions.lifecycle import withdraw
from capeval_server.submissions.models import UNFINISHED, Submission
from capeval_server.submissions.queue import ahead_of, expected_wait
from capeval_server.submissions.standing import set_standing
from capeval_server.teams import joining
from capeval_server.teams.models import Team

__all__ = ["urlpatterns"]

_log = logging.getLogger(__name__)
_PER_PAGE = 25
_PAGES = "pages/participant"


def _user(request: HttpRequest) -> User:
    """Who asks; the views that call this answer nobody who has not logged in."""
    return cast(User, request.user)


@login_required
def join(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows the rules, and has the user take part."""
    challenge = get_object_or_404(Challenge, slug=slug)
    if joining.team_of(_user(request), challenge) is not None:
        messages.info(request, "You take part in this challenge already.")
        return redirect("team", slug)
    code = request.GET.get("code", "")
    initial = {"how": "code", "code": code} if code else {}
    form = JoinForm(challenge, request.POST or None, initial=initial)
    if form.is_valid():
        try:
            team = form.join(_user(request))
        except errors.TeamError as error:
            form.refuse(str(error))
        else:
            messages.success(request, f"You take part in {challenge.title} as {team.name}.")
            return redirect("team", slug)
    context = {
        "challenge": challenge,
        "rules": to_html(challenge.rules),
        "form": form,
        "invited": joining.invited(challenge, code),
    }
    return render(request, f"{_PAGES}/join.html", context, status=422 if form.errors else 200)


def _member(request: HttpRequest, challenge: Challenge) -> Team | HttpResponse:
    """The user's team; or the way to join, where they have none."""
    team = joining.team_of(_user(request), challenge)
    if team is not None:
        return team
    messages.info(request, "Join the challenge first, alone or in a team.")
    return redirect("join", challenge.slug)


@login_required
@never_cache
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """The user's team, and how others join it."""
    challenge = get_object_or_404(Challenge, slug=slug)
    found = _member(request, challenge)
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
        "phases": [(phase, intake.quota(found, phase, now)) for phase in phases],
        "now": now,
    }
    return render(request, f"{_PAGES}/team.html", context)


@login_required
@require_POST
def renew_code(request: HttpRequest, slug: str) -> HttpResponse:
    """Gives the user's team another code."""
    found = joining.team_of(_user(request), get_object_or_404(Challenge, slug=slug))
    if found is None:
        raise Http404
    joining.renew_code(found)
    messages.success(request, "The team has a new code. The old code and link let nobody in any more.")
    return redirect("team", slug)


@login_required
@require_POST
def leave(request: HttpRequest, slug: str) -> HttpResponse:
    """Takes the user out of their team."""
    challenge = get_object_or_404(Challenge, slug=slug)
    try:
        joining.leave(_user(request), challenge)
    except errors.TeamError as error:
        messages.error(request, f"You can't leave: {error}.")
        return redirect("team", slug)
    messages.success(request, "You left the team.")
    return redirect("join", slug)


@login_required
@never_cache
def submit(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Shows what to submit and what the quota allows, and takes a submission in."""
    phase = get_object_or_404(Phase.objects.select_related("challenge"), challenge__slug=slug, name=name)
    team = _member(request, phase.challenge)
    if isinstance(team, HttpResponse):
        return team
    if request.method != "POST":
        last = team.submissions.filter(phase=phase).order_by("-created").first()
        form = SubmitForm(phase.challenge, declared=last.declared if last else {})
        return _submit_page(request, phase, team, form, 200)
    form = SubmitForm(phase.challenge, request.POST, request.FILES, declared={})
    if not form.is_valid():
        return _submit_page(request, phase, team, form, 422)
    try:
        return _taken_in(request, phase, form)
    except errors.UploadError as error:
        form.add_error("file", str(error))
        return _submit_page(request, phase, team, form, 422)
    except errors.QuotaError as error:
        return _submit_page(request, phase, team, form, 429, refusal=error)
    except (errors.PhaseError, errors.TeamError) as error:
        return _submit_page(request, phase, team, form, 403, refusal=error)
    except errors.RepeatedKeyError:
        form.renew_key()
        form.add_error(
            None,
            "This form was sent before, with something else in it, and that is a submission already. "
            "To make another one, choose the file again and submit.",
        )
        return _submit_page(request, phase, team, form, 409)
    except OSError as error:
        _log.error("files can't be stored", exc_info=error)
        form.add_error(None, "Files can't be stored at the moment. Nothing was taken in: try again later.")
        return _submit_page(request, phase, team, form, 503)


def _taken_in(request: HttpRequest, phase: Phase, form: SubmitForm) -> HttpResponse:
    given = form.cleaned_data
    submission, new = intake.submit(
        _user(request),
        phase,
        given["file"].name or "",
        given["file"].chunks(),
        declared=form.declared(),
        key=given["key"],
    )
    if new:
        messages.success(request, "Your submission is taken in. This page shows how far it is.")
    else:
        messages.info(request, "This was submitted already: here it is.")
    return redirect("submission", submission.pk)


def _submit_page(
    request: HttpRequest,
    phase: Phase,
    team: Team,
    form: SubmitForm,
    status: int,
    refusal: Exception | None = None,
) -> HttpResponse:
    now = timezone.now()
    when = phase.when(now)
    per_day, total = intake.allowance(team, phase)
    splits = list(phase.splits.order_by("name"))
    context = {
        "challenge": phase.challenge,
        "phase": phase,
        "team": team,
        "form": form,
        "refusal": refusal,
        "quota": intake.quota(team, phase, now),
        "per_day": per_day,
        "total": total,
        "now": now,
        "opens_later": when == "upcoming",
        "closed": when == "closed",
        "files": [
            {
                "split": split,
                "example": texts.example_name(split),
                "images": len(split.image_ids),
                "sample": texts.example_results(split),
            }
            for split in splits
        ],
        "server": request.build_absolute_uri("/").rstrip("/"),
    }
    answer = render(request, f"{_PAGES}/submit.html", context, status=status)
    if isinstance(refusal, errors.QuotaError) and (seconds := refusal.seconds_left(now)):
        answer["Retry-After"] = str(seconds)
    return answer


@login_required
@never_cache
def submissions(request: HttpRequest, slug: str) -> HttpResponse:
    """The submissions of the user's team to a phase."""
    challenge = get_object_or_404(Challenge, slug=slug)
    team = _member(request, challenge)
    if isinstance(team, HttpResponse):
        return team
    phases = list(challenge.phases.order_by("opens", "pk"))
    last = team.submissions.order_by("-created").select_related("phase").first()
    phase = next((one for one in phases if one.name == request.GET.get("phase")), None)
    phase = phase or (last.phase if last else None) or (phases[0] if phases else None)
    context: dict[str, Any] = {"challenge": challenge, "team": team, "phases": phases, "phase": phase}
    if phase is not None:
        context |= _listed(request, team, phase)
    return render(request, f"{_PAGES}/submissions.html", context)


def _listed(request: HttpRequest, team: Team, phase: Phase) -> dict[str, Any]:
    found = team.submissions.filter(phase=phase).select_related("user").order_by("-created", "pk")
    page = Paginator(found, _PER_PAGE).get_page(request.GET.get("page"))
    splits = list(phase.splits.defer("image_ids").prefetch_related("reference_sets").order_by("name"))
    columns = [
        (split, references)
        for split in splits
        for references in sorted(split.reference_sets.all(), key=lambda one: one.pk)
    ]
    scores = showing.headline(page.object_list, splits)
    rows = [
        {
            "submission": submission,
            "scores": [scores.get(submission.pk, {}).get(references.pk) for _, references in columns],
        }
        for submission in page.object_list
    ]
    return {"page": page, "columns": columns, "rows": rows}


def _not_found(request: HttpRequest) -> HttpResponse:
    # The same for what is not there and for what is others', so that it tells nothing.
    return render(request, f"{_PAGES}/not_found.html", status=404)


@require_safe
@never_cache
def submission(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A submission: all of it for its team, and what is published for everybody."""
    found = showing.visible(request.user, pk)
    if found is None:
        return _not_found(request)
    context = _of_submission(*found)
    return render(request, f"{_PAGES}/submission.html", context)


def _of_submission(submission: Submission, own: bool) -> dict[str, Any]:
    tables = showing.score_tables(submission)
    current = [table for table in tables if not table.stale]
    files = submission.files.select_related("split").defer("split__image_ids").order_by("split__name")
    phase = submission.phase
    ahead = ahead_of(submission) if submission.state == Submission.State.WAITING else 0
    return {
        "submission": submission,
        "challenge": submission.challenge,
        "phase": phase,
        "own": own,
        "tables": list(zip(current, placings(submission, current, timezone.now()), strict=True)),
        "stale_tables": [table for table in tables if table.stale],
        "declared": [(label(name), value) for name, value in submission.declared.items()],
        "browsable": tables and image_browser.splits_of(submission),
        "files": files if own else [],
        "unfinished": submission.state in UNFINISHED,
        "ahead": ahead,
        "wait": texts.wait(expected_wait(ahead, timezone.now())) if ahead else "",
        "seen": f"{submission.state}-{ahead}",
        "everybody_sees": phase.shows_leaderboard(timezone.now()) if phase else True,
    }


@require_safe
@never_cache
def state(request: HttpRequest, pk: UUID) -> HttpResponse:
    """How far a submission is: the part of its page that changes while it is scored."""
    found = showing.visible(request.user, pk)
    if found is None:
        raise Http404
    context = _of_submission(*found)
    if request.GET.get("seen") == context["seen"]:
        # Nothing changed: the page stays as it is, and nothing is announced again.
        return HttpResponse(status=204)
    return render(request, f"{_PAGES}/_state.html", {**context, "part": True})


def _own_submission(request: HttpRequest, pk: UUID) -> Submission:
    return get_object_or_404(showing.own(request.user), pk=pk)


@login_required
@require_POST
def stand(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Puts a submission on the leaderboard, or takes it off."""
    stands = request.POST.get("stands") == "yes"
    try:
        set_standing(_own_submission(request, pk), stands)
    except errors.StandingError as error:
        messages.error(request, f"That can't be: {error}.")
    else:
        done = "stands on the leaderboard now" if stands else "is off the leaderboard"
        messages.success(request, f"This submission {done}.")
    return redirect("submission", pk)


@login_required
@require_POST
def take_back(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Withdraws a submission."""
    try:
        withdraw(_own_submission(request, pk))
    except errors.StandingError as error:
        messages.error(request, f"That can't be: {error}.")
    else:
        messages.success(request, "This submission is withdrawn.")
    return redirect("submission", pk)


@login_required
@require_safe
@never_cache
def download(request: HttpRequest, pk: UUID, split: str) -> HttpResponseBase:
    """A file of one's own, as it was uploaded."""
    found = _own_submission(request, pk)
    file = get_object_or_404(found.files.select_related("split"), split__name=split)
    name = file.split.results.replace(ALGORITHM, found.algorithm)
    return FileResponse(
        file.file.open("rb"), as_attachment=True, filename=name, content_type="application/json"
    )


_SUBMISSION = "submissions/<uuid:pk>/"
urlpatterns = [
    *browsing,
    path(_SUBMISSION, submission, name="submission"),
    path(f"{_SUBMISSION}state/", state, name="submission_state"),
    path(f"{_SUBMISSION}stand/", stand, name="submission_stand"),
    path(f"{_SUBMISSION}withdraw/", take_back, name="submission_withdraw"),
    path(f"{_SUBMISSION}files/<slug:split>/", download, name="submission_file"),
    path("<slug:slug>/join/", join, name="join"),
    path("<slug:slug>/team/", team, name="team"),
    path("<slug:slug>/team/code/", renew_code, name="team_code"),
    path("<slug:slug>/team/leave/", leave, name="team_leave"),
    path("<slug:slug>/submissions/", submissions, name="submissions"),
    path("<slug:slug>/<slug:name>/submit/", submit, name="submit"),
]
