"""The API: see challenges, submit, watch, see scores and leaderboards."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import File, Header, NinjaAPI, Path, Query, Status, UploadedFile

from capeval import __version__
from capeval_server.accounts.models import Token
from capeval_server.api import schemas
from capeval_server.api.bodies import TextParser
from capeval_server.api.organising import router as organising
from capeval_server.api.problems import answer_problems
from capeval_server.api.tokens import Bearer, token_of
from capeval_server.challenges.models import Challenge, Phase, Split
from capeval_server.errors import NotFoundError
from capeval_server.leaderboards.exports import to_csv
from capeval_server.leaderboards.questions import ask, may_see
from capeval_server.leaderboards.ranking import Leaderboard, leaderboard
from capeval_server.submissions import access, image_browser, intake, quotas
from capeval_server.submissions.lifecycle import withdraw
from capeval_server.submissions.models import Result, Score, Submission
from capeval_server.submissions.queue import jobs
from capeval_server.submissions.standing import set_standing
from capeval_server.teams import joining
from capeval_server.teams.models import Team

__all__ = ["api"]

_READ, _SUBMIT = Bearer(Token.Scope.READ), Bearer(Token.Scope.SUBMIT)
_Slug = Annotated[str, Path(max_length=50, pattern="^[A-Za-z0-9_-]+$")]
_ABOUT = """What the pages show and do, for programs. What is public needs no token. For the rest, make one
on the page of [API tokens](/tokens/) and send it as `Authorization: Bearer TOKEN`. Times are in UTC."""
api = NinjaAPI(
    title="capeval server",
    version=__version__,
    description=_ABOUT,
    urls_namespace="api",
    parser=TextParser(),
)
api.default_router.tags = ["Challenges and submissions"]
api.add_router("/challenges/{slug}/organise", organising, tags=["Organising"])
answer_problems(api)


@api.get("/challenges", response=schemas.ChallengeList)
def challenges(request: HttpRequest) -> Any:
    """All challenges."""
    return {"challenges": list(Challenge.objects.order_by("slug"))}


@api.get("/challenges/{slug}", response={200: schemas.ChallengeAnswer, 404: schemas.Problem})
def challenge(request: HttpRequest, slug: _Slug) -> Any:
    """A challenge: its splits, phases and rules."""
    found = get_object_or_404(Challenge, slug=slug)
    splits = found.splits.prefetch_related("reference_sets", "subsets").order_by("name")
    return {
        "slug": found.slug,
        "title": found.title,
        "description": found.description,
        "rules": found.rules,
        "fields": found.fields,
        "splits": [_split(split) for split in splits],
        "phases": [_phase(phase) for phase in found.phases.prefetch_related("splits").order_by("opens")],
    }


def _split(split: Split) -> dict[str, Any]:
    return {
        "name": split.name,
        "results": split.results,
        "images": len(split.image_ids),
        "metrics": split.metrics,
        "sort_by": split.sort_by,
        "references": list(split.reference_sets.all()),
        "subsets": [subset.name for subset in split.subsets.all()],
    }


def _phase(phase: Phase) -> dict[str, Any]:
    shown = ("name", "opens", "closes", "quota_per_day", "quota_total", "leaderboard")
    splits = sorted(split.name for split in phase.splits.all())
    return {**{name: getattr(phase, name) for name in shown}, "splits": splits}


def _found_phase(slug: str, name: str) -> Phase:
    return get_object_or_404(Phase.objects.select_related("challenge"), challenge__slug=slug, name=name)


@api.get(
    "/challenges/{slug}/phases/{phase}/quota",
    response={200: schemas.QuotaAnswer, 404: schemas.Problem},
    auth=_READ,
)
def quota(request: HttpRequest, slug: _Slug, phase: _Slug) -> Any:
    """What one's own team may still submit to a phase."""
    found = _found_phase(slug, phase)
    return quotas.quota(_team(request, found.challenge), found, timezone.now()).__dict__


@api.get("/challenges/{slug}/team", response={200: schemas.TeamAnswer, 404: schemas.Problem}, auth=_READ)
def team(request: HttpRequest, slug: _Slug) -> Any:
    """One's own team in a challenge; its code is not for tokens that only read."""
    shown = _shown_team(_team(request, get_object_or_404(Challenge, slug=slug)))
    return {**shown, "code": None} if token_of(request).scope == Token.Scope.READ else shown


@api.post(
    "/challenges/{slug}/team",
    response={201: schemas.TeamAnswer, (403, 404, 409): schemas.Problem},
    auth=_SUBMIT,
)
def join(request: HttpRequest, slug: _Slug, choice: schemas.TeamChoice) -> Any:
    """Joins a challenge: alone, in a new team, or in the team that has a code."""
    found, user = get_object_or_404(Challenge, slug=slug), token_of(request).user
    if choice.code is not None:
        joined = joining.join(user, found, choice.code)
    else:
        joined = joining.make_team(user, found, choice.name or "")
    return Status(201, _shown_team(joined))


@api.delete("/challenges/{slug}/team", response={204: None, (403, 404, 409): schemas.Problem}, auth=_SUBMIT)
def leave(request: HttpRequest, slug: _Slug) -> Any:
    """Leaves a team that has not submitted."""
    joining.leave(token_of(request).user, get_object_or_404(Challenge, slug=slug))
    return Status(204, None)


def _team(request: HttpRequest, challenge: Challenge) -> Team:
    found = joining.team_of(token_of(request).user, challenge)
    if found is None:
        raise NotFoundError
    return found


def _shown_team(team: Team) -> dict[str, Any]:
    members = team.memberships.order_by("joined").values_list("user__username", flat=True)
    return {"name": team.name, "code": team.code, "members": list(members)}


@api.post(
    "/challenges/{slug}/phases/{phase}/submissions",
    response={
        201: schemas.SubmissionAnswer,
        200: schemas.SubmissionAnswer,
        (403, 404, 409, 422, 429, 503): schemas.Problem,
    },
    auth=_SUBMIT,
)
def submit(
    request: HttpRequest,
    slug: _Slug,
    phase: _Slug,
    file: Annotated[UploadedFile, File()],
    idempotency_key: Annotated[str | None, Header(max_length=100, pattern=r"^[!-~]+$")] = None,
) -> Any:
    """Submits results: a zip of result files, or one JSON file.

    Form fields other than `file` are what the submitter declares. The same upload with the same
    `Idempotency-Key` again is the same submission, and answers 200.
    """
    declared = {name: request.POST[name] for name in request.POST}
    submission, new = intake.submit(
        token_of(request).user,
        _found_phase(slug, phase),
        file.name or "",
        file.chunks(),
        declared=declared,
        key=idempotency_key,
    )
    return Status(201 if new else 200, _submission(submission))


@api.get("/submissions", response=schemas.SubmissionList, auth=_READ)
def submissions(request: HttpRequest) -> Any:
    """The submissions of one's own teams, the latest first."""
    own = _own(request).order_by("-created")
    return {"submissions": [_submission(submission) for submission in own]}


@api.get(
    "/submissions/{submission_id}",
    response={200: schemas.SubmissionWithResults, 404: schemas.Problem},
    auth=_READ,
)
def submission(request: HttpRequest, submission_id: UUID) -> Any:
    """A submission of one's own team, with its scores as soon as there are some."""
    found = get_object_or_404(_own(request), pk=submission_id)
    results = found.results.select_related("reference_version__reference_set__split")
    results = results.defer("log", "reference_version__reference_set__split__image_ids")
    scores = Prefetch("scores", Score.objects.defer("samples").order_by("pk"))
    results = results.prefetch_related(scores).order_by("pk")
    return {**_submission(found), "results": [_result(result) for result in results]}


@api.get(
    "/submissions/{submission_id}/images",
    response={200: schemas.ImageScoresAnswer, 404: schemas.Problem},
    auth=_READ,
)
def image_scores(
    request: HttpRequest,
    submission_id: UUID,
    split: Annotated[str, Query(max_length=50, pattern="^[A-Za-z0-9_-]+$")],
    references: Annotated[str, Query(max_length=50, pattern="^[A-Za-z0-9_-]+$")],
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Any:
    """The scores of single images by public references: of one's own submissions, and of published ones.

    There are none by private references. Of others' submissions there are only those of splits whose
    reference sets are all public.
    """
    token = token_of(request)
    seen = access.visible(token.user, submission_id, manages=token.scope == Token.Scope.ORGANISE)
    if seen is None:
        raise NotFoundError
    return image_browser.image_answer(*seen, split, references, offset, limit)


@api.patch(
    "/submissions/{submission_id}",
    response={200: schemas.SubmissionAnswer, (403, 404, 409): schemas.Problem},
    auth=_SUBMIT,
)
def stand(request: HttpRequest, submission_id: UUID, standing: schemas.Standing) -> Any:
    """Puts a scored submission on the leaderboard in place of any other of the team, or takes it off."""
    found = get_object_or_404(_own(request), pk=submission_id)
    return _submission(set_standing(found, standing.stands))


@api.delete(
    "/submissions/{submission_id}",
    response={200: schemas.SubmissionAnswer, (403, 404, 409): schemas.Problem},
    auth=_SUBMIT,
)
def withdraw_submission(request: HttpRequest, submission_id: UUID) -> Any:
    """Withdraws a submission for good; the quota that it cost stays spent."""
    return _submission(withdraw(get_object_or_404(_own(request), pk=submission_id)))


@api.delete("/token", response={204: None}, auth=_READ)
def revoke(request: HttpRequest) -> Any:
    """Revokes the token that asks."""
    token_of(request).revoke()
    return Status(204, None)


@api.get(
    "/challenges/{slug}/phases/{phase}/leaderboard",
    response={200: schemas.LeaderboardAnswer, (403, 404, 422): schemas.Problem},
)
def show_leaderboard(
    request: HttpRequest, slug: _Slug, phase: _Slug, asked: Annotated[schemas.LeaderboardQuestion, Query()]
) -> Any:
    """The leaderboard of a phase, by a split's references, for all images or a subset.

    All rows, or a page of 50. Hidden ones are shown to organisers alone.
    """
    found = _found_phase(slug, phase)
    if not may_see(_asker(request), found):
        raise PermissionDenied(f"the leaderboard of phase {found.name!r} is hidden")
    question = ask(found, **asked.model_dump(exclude={"page", "form"}))
    board = leaderboard(question, page=asked.page)
    if asked.form == "csv":
        answer = HttpResponse(to_csv(board), content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="{slug}-{phase}.csv"'
        return answer
    return _board(board)


def _asker(request: HttpRequest) -> User | AnonymousUser:
    """Who asks: by a token to organise, if they sent one, or as they are logged in."""
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    token = Token.of_text(text) if kind.lower() == "bearer" else None
    if token is None:
        return request.user
    return token.user if token.scope == Token.Scope.ORGANISE else AnonymousUser()


def _board(board: Leaderboard) -> dict[str, Any]:
    question = board.question
    return {
        "challenge": question.phase.challenge.slug,
        "phase": question.phase.name,
        "split": question.split.name,
        "references": question.reference_set.name,
        "version": question.version.number,
        "current": question.current,
        "subset": question.subset,
        "as_of": question.as_of,
        "sort_by": question.sort_by,
        "order": "best" if question.best_first else "worst",
        **{name: getattr(board, name) for name in ("columns", "total", "page", "pages", "rescoring")},
        "rows": [{**row.__dict__, "differs_from_next": row.differs_from_next} for row in board.rows],
    }


@api.get("/jobs", response=schemas.JobsAnswer)
def show_jobs(request: HttpRequest) -> Any:
    """What waits to be scored, and which workers are there."""
    found = jobs(timezone.now())
    by_hour = [{"begins": hour, "scored": scored} for hour, scored in found.by_hour]
    return {**found.__dict__, "workers": [worker.__dict__ for worker in found.workers], "by_hour": by_hour}


def _own(request: HttpRequest) -> QuerySet[Submission]:
    return access.own(token_of(request).user)


_SHOWN = ("id", "created", "algorithm", "declared", "state", "reason", "counts_for_quota", "stands")
_MARKED = ("mark", "mark_reason")


def _submission(submission: Submission) -> dict[str, Any]:
    phase = submission.phase
    return {
        **{name: getattr(submission, name) for name in (*_SHOWN, *_MARKED)},
        "challenge": phase.challenge.slug if phase else "",
        "phase": phase.name if phase else "",
    }


def _result(result: Result) -> dict[str, Any]:
    references = result.reference_version.reference_set
    return {
        "split": references.split.name,
        "references": references.name,
        "version": result.reference_version.number,
        "stale": result.reference_version.number != references.version,
        "metric": result.metric,
        "signature": result.signature,
        "failure": result.failure,
        "scores": list(result.scores.all()),
    }
