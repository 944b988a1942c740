"""Operations for organizers. They return 404 to everyone else."""

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
from capeval_server.api.schemas import Problem, RequestBody
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import get_organized_challenge
from capeval_server.hosting import jobs
from capeval_server.hosting.selectors import overview
from capeval_server.hosting.services import deletion, final_results, moderation, reported_scores, settings
from capeval_server.hosting.services.description import describe_phase, fingerprint
from capeval_server.http.range_requests import is_continuation, send_range
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.submissions.models import Submission
from capeval_server.submissions.quotas.limits import QuotaUsage

__all__ = ["router"]

router = Router(auth=ORGANIZE, tags=["Organizing"])
_PAGE_SIZE = 200


class OrganizedSubmission(Schema):
    """A submission with the fields that organizers see."""

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
    """A range of the submissions, latest first. `count` is their total number."""

    count: int
    submissions: list[OrganizedSubmission]


class Mark(RequestBody):
    """A mark on a submission. The team sees the reason."""

    mark: Literal["", "flagged", "hidden"]
    reason: str = ""


class RerunSelection(RequestBody):
    """Which submissions to score again: all or only failed ones, in one or all phases."""

    phase: str | None = None
    failed: bool = True


class RerunCount(Schema):
    """Number of submissions that will be scored again."""

    submissions: int


class QuotaIncrease(RequestBody):
    """Submissions that a team may make in addition to a phase's quota."""

    per_day: int = 0
    total: int = 0


class ShownCaptions(RequestBody):
    """The splits with public captions, and the teams that they come from.

    `captions_by` is `agreed` for teams that agreed, or `standing` for all teams on the leaderboard.
    """

    captions: list[str]
    captions_by: Literal["agreed", "standing"]


class Confirmation(RequestBody):
    """The name of the challenge in its URL, as a confirmation."""

    name: str


class ExportAnswer(Schema):
    """An export. `state` is `waiting`, `ready` or `failed`."""

    state: str
    created: datetime


class ReportedScores(RequestBody):
    """Scores that were reported elsewhere.

    `content` is the text of a file: CSV, or JSON in the format of the COCO leaderboards.
    """

    title: str
    content: str
    url: str = ""
    ranked: bool = False


class ReportedImport(Schema):
    """Result of an import of reported scores.

    `rows` is the number of rows shown. `left_out` lists the scores that were ignored because the split does
    not have the metric.
    """

    rows: int
    left_out: list[str]


@derived_from(QuotaUsage, without=("raised",))
class PhaseQuotaUsage(Schema):
    """A team's use of a phase's quota."""

    phase: str = Field(validation_alias="phase.name")


class OrganizedTeam(Schema):
    """A team with the fields that organizers see."""

    id: int = Field(validation_alias="team.pk")
    name: str = Field(validation_alias="team.name")
    members: list[str]
    quotas: list[PhaseQuotaUsage] = Field(validation_alias="uses")


class OrganizedTeams(Schema):
    """A range of the teams, by name. `count` is their total number."""

    count: int
    teams: list[OrganizedTeam]


def _get_user(request: HttpRequest) -> User:
    return token_of(request).user


def _get_submission(challenge: Challenge, pk: UUID) -> Submission:
    return get_object_or_404(moderation.of_challenge(challenge), pk=pk)


@router.get("/submissions", response={200: OrganizedSubmissions, 404: Problem})
def submissions(
    request: HttpRequest,
    slug: Slug,
    state: Literal["waiting", "running", "scored", "failed", "withdrawn"] | None = None,
    start: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> Any:
    """List up to 200 submissions of all teams, from the position `start`."""
    found = moderation.of_challenge(get_organized_challenge(_get_user(request), slug)).order_by(
        "-created", "-pk"
    )
    if state:
        found = found.filter(state=state)
    return {"count": found.count(), "submissions": found[start : start + _PAGE_SIZE]}


@router.post(
    "/submissions/{submission_id}/rerun",
    response={200: OrganizedSubmission, (403, 404, 409): Problem},
)
def rerun(request: HttpRequest, slug: Slug, submission_id: UUID) -> Any:
    """Score a submission again."""
    challenge = get_organized_challenge(_get_user(request), slug)
    moderation.rerun(_get_user(request), challenge, _get_submission(challenge, submission_id))
    return _get_submission(challenge, submission_id)


@router.post("/rerun", response={200: RerunCount, (403, 404): Problem})
def rerun_many(request: HttpRequest, slug: Slug, which: RerunSelection) -> Any:
    """Score many submissions again."""
    challenge = get_organized_challenge(_get_user(request), slug)
    named = which.phase is not None and "\0" not in which.phase
    phase = get_object_or_404(challenge.phases, name=which.phase if named else "") if which.phase else None
    return {
        "submissions": moderation.rerun_all(_get_user(request), challenge, phase=phase, failed=which.failed)
    }


@router.put(
    "/submissions/{submission_id}/mark",
    response={200: OrganizedSubmission, (403, 404, 409): Problem},
)
def mark(request: HttpRequest, slug: Slug, submission_id: UUID, wanted: Mark) -> Any:
    """Flag or hide a submission with a reason, or remove its mark."""
    challenge = get_organized_challenge(_get_user(request), slug)
    found = _get_submission(challenge, submission_id)
    moderation.mark(_get_user(request), challenge, found, wanted.mark, wanted.reason)
    return _get_submission(challenge, submission_id)


_REPORTED_PATH = "/splits/{split}/references/{references}/reported/{name}"


@router.put(_REPORTED_PATH, response={200: ReportedImport, (403, 404, 422): Problem})
@accepts_uploads
def import_reported_scores(
    request: HttpRequest, slug: Slug, split: Slug, references: Slug, name: Slug, wanted: ReportedScores
) -> Any:
    """Show scores that were reported elsewhere with a leaderboard.

    They replace the scores that were imported under the same name.
    """
    user = _get_user(request)
    entry = reported_scores.reference_set(get_organized_challenge(user, slug), split, references)
    about = wanted.model_dump(exclude={"content"})
    rows, left_out = reported_scores.add_reported(
        user, entry, name, "content", wanted.content.encode("utf-8", "replace"), **about
    )
    return {"rows": rows, "left_out": left_out}


@router.delete(_REPORTED_PATH, response={204: None, (403, 404): Problem})
def delete_reported_scores(
    request: HttpRequest, slug: Slug, split: Slug, references: Slug, name: Slug
) -> Any:
    """Remove scores that were reported elsewhere from the leaderboards."""
    user = _get_user(request)
    entry = reported_scores.reference_set(get_organized_challenge(user, slug), split, references)
    reported_scores.remove_reported(user, entry, name)
    return Status(204, None)


@router.get("/teams", response={200: OrganizedTeams, (403, 404): Problem})
def teams(request: HttpRequest, slug: Slug, start: Annotated[int, Query(ge=0, le=10**9)] = 0) -> Any:
    """List up to 200 teams with their quota usage, from the position `start`."""
    challenge = get_organized_challenge(_get_user(request), slug)
    found = challenge.teams.prefetch_related("memberships__user").order_by("name")
    uses = overview.list_quota_usage(challenge, found[start : start + _PAGE_SIZE])
    return {"count": found.count(), "teams": uses}


@router.put(
    "/teams/{team_id}/raises/{phase}",
    response={200: OrganizedTeam, (403, 404, 409): Problem},
)
def increase_quota(
    request: HttpRequest, slug: Slug, team_id: Number, phase: Slug, more: QuotaIncrease
) -> Any:
    """Set how many submissions a team may make in addition to a phase's quota.

    If both numbers are 0, the increase is removed.
    """
    challenge = get_organized_challenge(_get_user(request), slug)
    team = get_object_or_404(challenge.teams.prefetch_related("memberships__user"), pk=team_id)
    chosen = get_object_or_404(challenge.phases, name=phase)
    moderation.raise_quota(_get_user(request), team, chosen, per_day=more.per_day, total=more.total)
    return overview.list_quota_usage(challenge, [team])[0]


@router.put("/phases/{phase}/final", response={204: None, (403, 404, 409): Problem})
def make_final(request: HttpRequest, slug: Slug, phase: Slug) -> Any:
    """Make the results of a closed phase final. This cannot be undone."""
    challenge = get_organized_challenge(_get_user(request), slug)
    found = get_object_or_404(challenge.phases.select_related("challenge"), name=phase)
    final_results.make_final(_get_user(request), found)
    return Status(204, None)


@router.post("/delete", response={204: None, (403, 404, 409): Problem})
def delete(request: HttpRequest, slug: Slug, confirmation: Confirmation) -> Any:
    """Delete the challenge with everything in it. This cannot be undone.

    An export must have been downloaded, and nothing may have changed since it was requested.
    """
    challenge = get_organized_challenge(_get_user(request), slug)
    deletion.delete_challenge(_get_user(request), challenge, confirmation.name)
    return Status(204, None)


@router.put("/phases/{phase}/published", response={204: None, (403, 404, 409): Problem})
def publish(request: HttpRequest, slug: Slug, phase: Slug) -> Any:
    """Publish the scores of a closed blind phase. This cannot be undone."""
    challenge = get_organized_challenge(_get_user(request), slug)
    found = get_object_or_404(challenge.phases.select_related("challenge"), name=phase)
    final_results.publish(_get_user(request), found)
    return Status(204, None)


@router.put("/phases/{phase}/captions", response={200: ShownCaptions, (403, 404, 409, 422): Problem})
def show_captions(request: HttpRequest, slug: Slug, phase: Slug, wanted: ShownCaptions) -> Any:
    """Set which captions of submissions to a phase are public.

    If `captions` is empty, no captions are public.
    """
    user = _get_user(request)
    challenge = get_organized_challenge(user, slug)
    found = describe_phase(get_object_or_404(challenge.phases, name=phase))
    settings.edit_phase(user, challenge, {**found, **wanted.model_dump()}, seen=fingerprint(found))
    return wanted


@router.post("/export", response={202: ExportAnswer, (403, 404): Problem})
def start_export(request: HttpRequest, slug: Slug) -> Any:
    """Start an export of the whole challenge, which replaces any earlier export."""
    user = _get_user(request)
    return Status(202, jobs.request_export(user, get_organized_challenge(user, slug)))


@router.get("/export", response={200: None, 206: None, (403, 404, 409): Problem})
def download_export(request: HttpRequest, slug: Slug) -> Any:
    """Download the export as a zip, or a part of it (`Range`).

    Returns 409 while no export is ready.
    """
    user = _get_user(request)
    challenge = get_organized_challenge(user, slug)
    found, file = jobs.open_export(user, challenge, again=is_continuation(request))
    return send_range(request, file, f"{slug}.zip", size=found.size, etag=f'"{found.pk.hex}"')
