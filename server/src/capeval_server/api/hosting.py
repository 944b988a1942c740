"""The API of organizers. It answers 404 to everybody else."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema, Status

from capeval_server.api.authentication import ORGANIZE, token_of
from capeval_server.api.derived_schemas import derived_from
from capeval_server.api.path_parameters import Number, Slug
from capeval_server.api.schemas import Problem
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import organized
from capeval_server.hosting import jobs
from capeval_server.hosting.selectors import overview
from capeval_server.hosting.services import final_results, moderation, reported_scores, settings
from capeval_server.hosting.services.description import describe_phase, fingerprint
from capeval_server.http.range_requests import goes_on, sent
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.submissions.models import Submission
from capeval_server.submissions.quotas.limits import QuotaUsage

__all__ = ["router"]

router = Router(auth=ORGANIZE, tags=["Organizing"])
_MOST = 200


class OrganizedSubmission(Schema):
    """A submission, as an organizer sees it."""

    id: UUID
    team: str = Field(validation_alias="entrant")
    phase: str
    created: datetime
    algorithm: str
    state: str
    reason: str
    stands: bool
    mark: str
    mark_reason: str

    @staticmethod
    def resolve_phase(submission: Submission) -> str:
        """Return the name of the phase."""
        return submission.phase.name if submission.phase else ""


class OrganizedSubmissions(Schema):
    """Submissions, the latest first; `count` of them in all."""

    count: int
    submissions: list[OrganizedSubmission]


class Mark(Schema):
    """A mark on a submission; the team sees the reason."""

    mark: Literal["", "flagged", "hidden"]
    reason: str = ""


class Again(Schema):
    """Which submissions to score again: all or only failed ones, of one phase or of all."""

    phase: str | None = None
    failed: bool = True


class Rerun(Schema):
    """How many submissions will be scored again."""

    submissions: int


class More(Schema):
    """How many submissions a team may make beyond a phase's quota."""

    per_day: int = 0
    total: int = 0


class ShownCaptions(Schema):
    """The splits whose captions everybody may read: of teams that agreed, or of all on the leaderboard."""

    captions: list[str]
    captions_by: Literal["agreed", "standing"]


class ExportAnswer(Schema):
    """An export: `waiting`, `ready` or `failed`."""

    state: str
    created: datetime


class Reported(Schema):
    """Scores that were reported elsewhere: the text of a file, as CSV or as JSON of COCO's leaderboards."""

    title: str
    content: str
    url: str = ""
    ranked: bool = False


class ReportedImport(Schema):
    """How many rows are shown, and which scores are left out, since the split has no such metric."""

    rows: int
    left_out: list[str]


@derived_from(QuotaUsage, without=("raised",))
class PhaseUse(Schema):
    """A team's use of a phase's quota."""

    phase: str = Field(validation_alias="phase.name")


class OrganizedTeam(Schema):
    """A team, as an organizer sees it."""

    id: int = Field(validation_alias="team.pk")
    name: str = Field(validation_alias="team.name")
    members: list[str]
    quotas: list[PhaseUse] = Field(validation_alias="uses")


class OrganizedTeams(Schema):
    """Teams by their names; `count` of them in all."""

    count: int
    teams: list[OrganizedTeam]


def _user(request: HttpRequest) -> User:
    return token_of(request).user


def _submission(challenge: Challenge, pk: UUID) -> Submission:
    return get_object_or_404(moderation.of_challenge(challenge), pk=pk)


@router.get("/submissions", response={200: OrganizedSubmissions, 404: Problem})
def submissions(
    request: HttpRequest,
    slug: Slug,
    state: Literal["waiting", "running", "scored", "failed", "withdrawn"] | None = None,
    start: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> Any:
    """All teams' submissions, 200 of them from a start."""
    found = moderation.of_challenge(organized(_user(request), slug)).order_by("-created", "-pk")
    if state:
        found = found.filter(state=state)
    return {"count": found.count(), "submissions": found[start : start + _MOST]}


@router.post(
    "/submissions/{submission_id}/rerun",
    response={200: OrganizedSubmission, (403, 404, 409): Problem},
)
def rerun(request: HttpRequest, slug: Slug, submission_id: UUID) -> Any:
    """Has a submission scored again."""
    challenge = organized(_user(request), slug)
    moderation.rerun(_user(request), challenge, _submission(challenge, submission_id))
    return _submission(challenge, submission_id)


@router.post("/rerun", response={200: Rerun, (403, 404): Problem})
def rerun_many(request: HttpRequest, slug: Slug, which: Again) -> Any:
    """Has many submissions scored again."""
    challenge = organized(_user(request), slug)
    named = which.phase is not None and "\0" not in which.phase
    phase = get_object_or_404(challenge.phases, name=which.phase if named else "") if which.phase else None
    return {"submissions": moderation.rerun_all(_user(request), challenge, phase=phase, failed=which.failed)}


@router.put(
    "/submissions/{submission_id}/mark",
    response={200: OrganizedSubmission, (403, 404, 409): Problem},
)
def mark(request: HttpRequest, slug: Slug, submission_id: UUID, wanted: Mark) -> Any:
    """Flags or hides a submission with a reason, or takes the mark off."""
    challenge = organized(_user(request), slug)
    found = _submission(challenge, submission_id)
    moderation.mark(_user(request), challenge, found, wanted.mark, wanted.reason)
    return _submission(challenge, submission_id)


_REPORTED = "/splits/{split}/references/{references}/reported/{name}"


@router.put(_REPORTED, response={200: ReportedImport, (403, 404, 422): Problem})
@accepts_uploads
def put_reported(
    request: HttpRequest, slug: Slug, split: Slug, references: Slug, name: Slug, wanted: Reported
) -> Any:
    """Shows scores that were reported elsewhere beside a leaderboard, in place of earlier ones."""
    user = _user(request)
    entry = reported_scores.reference_set(organized(user, slug), split, references)
    about = wanted.model_dump(exclude={"content"})
    rows, left_out = reported_scores.add_reported(
        user, entry, name, "content", wanted.content.encode("utf-8", "replace"), **about
    )
    return {"rows": rows, "left_out": left_out}


@router.delete(_REPORTED, response={204: None, (403, 404): Problem})
def delete_reported(request: HttpRequest, slug: Slug, split: Slug, references: Slug, name: Slug) -> Any:
    """Takes scores that were reported elsewhere off the leaderboards."""
    user = _user(request)
    entry = reported_scores.reference_set(organized(user, slug), split, references)
    reported_scores.remove_reported(user, entry, name)
    return Status(204, None)


@router.get("/teams", response={200: OrganizedTeams, (403, 404): Problem})
def teams(request: HttpRequest, slug: Slug, start: Annotated[int, Query(ge=0, le=10**9)] = 0) -> Any:
    """All teams, 200 of them from a start, with their use of quotas."""
    challenge = organized(_user(request), slug)
    found = challenge.teams.prefetch_related("memberships__user").order_by("name")
    uses = overview.use_of(challenge, found[start : start + _MOST])
    return {"count": found.count(), "teams": uses}


@router.put(
    "/teams/{team_id}/raises/{phase}",
    response={200: OrganizedTeam, (403, 404, 409): Problem},
)
def raise_quota(request: HttpRequest, slug: Slug, team_id: Number, phase: Slug, more: More) -> Any:
    """Sets how many submissions a team may make beyond a phase's quota; 0 and 0 remove what it was given."""
    challenge = organized(_user(request), slug)
    team = get_object_or_404(challenge.teams.prefetch_related("memberships__user"), pk=team_id)
    chosen = get_object_or_404(challenge.phases, name=phase)
    moderation.raise_quota(_user(request), team, chosen, per_day=more.per_day, total=more.total)
    return overview.use_of(challenge, [team])[0]


@router.put("/phases/{phase}/final", response={204: None, (403, 404, 409): Problem})
def make_final(request: HttpRequest, slug: Slug, phase: Slug) -> Any:
    """Makes the results of a closed phase final; this can't be undone."""
    challenge = organized(_user(request), slug)
    found = get_object_or_404(challenge.phases.select_related("challenge"), name=phase)
    final_results.make_final(_user(request), found)
    return Status(204, None)


@router.put("/phases/{phase}/captions", response={200: ShownCaptions, (403, 404, 409, 422): Problem})
def show_captions(request: HttpRequest, slug: Slug, phase: Slug, wanted: ShownCaptions) -> Any:
    """Says which captions of submissions to a phase everybody may read; no splits, no captions."""
    user = _user(request)
    challenge = organized(user, slug)
    found = describe_phase(get_object_or_404(challenge.phases, name=phase))
    settings.edit_phase(user, challenge, {**found, **wanted.model_dump()}, seen=fingerprint(found))
    return wanted


@router.post("/export", response={202: ExportAnswer, (403, 404): Problem})
def ask_for_all(request: HttpRequest, slug: Slug) -> Any:
    """Has everything of the challenge exported, in place of any earlier export."""
    user = _user(request)
    return Status(202, jobs.ask_for_export(user, organized(user, slug)))


@router.get("/export", response={200: None, 206: None, (403, 404, 409): Problem})
def export_all(request: HttpRequest, slug: Slug) -> Any:
    """Everything of the challenge, as a zip, or a part of it (`Range`); 409 while no export is ready."""
    user = _user(request)
    challenge = organized(user, slug)
    found, file = jobs.opened_export(user, challenge, again=goes_on(request))
    return sent(request, file, f"{slug}.zip", size=found.size, etag=f'"{found.pk.hex}"')
