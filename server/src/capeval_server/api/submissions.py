"""Operations on your submissions and their scores."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Header, Query, Router, Status

from capeval_server.accounts.models import Token
from capeval_server.api import schemas
from capeval_server.api.authentication import READ, SUBMIT, token_of
from capeval_server.api.path_parameters import Slug
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.selectors.access import get_phase, is_organizer
from capeval_server.core.errors import NotFoundError, UploadError
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.jobs.leases import database_time
from capeval_server.leaderboards.comparison import compared
from capeval_server.submissions.models import Score, Submission
from capeval_server.submissions.selectors import image_browser, visibility
from capeval_server.submissions.selectors.queue import ahead_of, expected_wait, scoring_of
from capeval_server.submissions.services import admission
from capeval_server.submissions.services.leaderboard_selection import set_standing
from capeval_server.submissions.services.lifecycle import withdraw

__all__ = ["router"]

router = Router(tags=["Submissions"])
# If the upload were a parameter of the view, Ninja would read the body before the quota is checked.
_UPLOAD_SCHEMA = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}},
    "required": ["file"],
    "additionalProperties": {"type": "string"},
}


@router.post(
    "/challenges/{slug}/phases/{phase}/submissions",
    response={
        201: schemas.SubmissionAnswer,
        200: schemas.SubmissionAnswer,
        (403, 404, 409, 422, 429, 503): schemas.Problem,
    },
    auth=SUBMIT,
    openapi_extra={
        "requestBody": {"content": {"multipart/form-data": {"schema": _UPLOAD_SCHEMA}}, "required": True}
    },
)
@accepts_uploads
def submit(
    request: HttpRequest,
    slug: Slug,
    phase: Slug,
    idempotency_key: Annotated[str | None, Header(max_length=100, pattern=r"^[!-~]+$")] = None,
) -> Any:
    """Submit results: a zip of result files, or one JSON file.

    Form fields other than `file` are the declared fields. If the same upload is sent again with the same
    `Idempotency-Key`, no new submission is created and the response is 200. Uploads of one user are processed
    one at a time.
    """
    size = int(request.headers.get("Content-Length") or 0)
    found = get_phase(slug, phase)
    with admission.admit_upload(token_of(request).user, found, size=size, key=idempotency_key) as upload:
        # The body is read here, after the checks of `admitted`.
        file = request.FILES.get("file")
        if file is None:
            raise UploadError("missing file: send the results in the form field 'file'")
        declared = {name: request.POST[name] for name in request.POST}
        submission, new = upload.submit(file.name or "", file.chunks(), declared=declared)
    return Status(201 if new else 200, _serialize(submission))


@router.get("/submissions", response=schemas.SubmissionList, auth=READ)
def submissions(request: HttpRequest) -> Any:
    """List the submissions of your teams, latest first, without those to drafts of challenges."""
    own = _list_own(request).exclude(phase__challenge__visibility=Challenge.Visibility.DRAFT)
    own = own.order_by("-created")
    return {"submissions": [_serialize(submission) for submission in own]}


@router.get(
    "/submissions/{submission_id}",
    response={200: schemas.SubmissionWithResults, 404: schemas.Problem},
    auth=READ,
)
def submission(request: HttpRequest, submission_id: UUID) -> Any:
    """Return a submission of your team, with its scores once it is scored."""
    found = get_object_or_404(_list_own(request), pk=submission_id)
    results = found.results.select_related("reference_version__reference_set__split")
    results = results.defer("log", "reference_version__reference_set__split__image_ids")
    scores = Prefetch("scores", Score.objects.defer("samples").order_by("pk"))
    results = results.prefetch_related(scores).order_by("pk")
    token = token_of(request)
    manages = token.scope == Token.Scope.ORGANIZE
    withheld = visibility.withholds_scores(token.user, found, manages=manages)
    shown = [] if withheld else results
    return {**_serialize(found), **_get_progress(found), "scores_withheld": withheld, "results": shown}


def _get_progress(submission: Submission) -> dict[str, Any]:
    """Return the progress of a submission that waits or is being scored."""
    now, wait, scoring = database_time(), None, None
    if submission.state == Submission.State.WAITING:
        ahead = ahead_of(submission)
        wait = {"ahead": ahead, "expected_wait": expected_wait(ahead, now)}
    elif submission.state == Submission.State.RUNNING:
        scoring = scoring_of(submission, now)
    return {"wait": wait, "scoring": scoring}


@router.get(
    "/submissions/{submission_id}/images",
    response={200: schemas.ImageScoresAnswer, 404: schemas.Problem},
    auth=READ,
)
def image_scores(
    request: HttpRequest,
    submission_id: UUID,
    split: Annotated[str, Query(max_length=50, pattern="^[A-Za-z0-9_-]+$")],
    references: Annotated[str, Query(max_length=50, pattern="^[A-Za-z0-9_-]+$")],
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Any:
    """Return the per-image scores of your own or a published submission.

    Per-image scores by private references are not available. For submissions of other teams, all reference
    sets of the split must be public.
    """
    token = token_of(request)
    seen = visibility.get_scored(token.user, submission_id, manages=token.scope == Token.Scope.ORGANIZE)
    if seen is None:
        raise NotFoundError
    return image_browser.get_image_scores(*seen, split, references, offset, limit)


@router.get(
    "/submissions/{submission_id}/compare/{other_id}",
    response={200: schemas.ComparisonAnswer, 404: schemas.Problem},
    auth=READ,
)
def compare(request: HttpRequest, submission_id: UUID, other_id: UUID) -> Any:
    """Compare two submissions of a challenge in every score that both have.

    You must have access to both. The test is paired randomization of the captions of each image, as with
    `capeval compare`. Scores that an earlier version of the server stored are tested by paired bootstrap over
    images, as with `capeval compare --method bootstrap`; `test` is the test of each score. Values by private
    references are rounded.
    """
    token = token_of(request)
    manages = token.scope == Token.Scope.ORGANIZE
    found = [visibility.get_scored(token.user, pk, manages=manages) for pk in (submission_id, other_id)]
    if found[0] is None or found[1] is None or found[0][0].challenge != found[1][0].challenge:
        raise NotFoundError
    full = manages and is_organizer(token.user, found[0][0].challenge)
    sets = compared(found[0][0], found[1][0], full=full)
    return {"scores": [row for one in sets for row in one.rows]}


@router.patch(
    "/submissions/{submission_id}",
    response={200: schemas.SubmissionAnswer, (403, 404, 409): schemas.Problem},
    auth=SUBMIT,
)
def stand(request: HttpRequest, submission_id: UUID, standing: schemas.Standing) -> Any:
    """Add a scored submission to the leaderboard, or remove it.

    It replaces any other submission of the team on the leaderboard. With null, the team's choices in the
    phase are dropped, and the best of its submissions is on the leaderboard, as before its first choice.
    """
    found = get_object_or_404(_list_own(request), pk=submission_id)
    return _serialize(set_standing(found, standing.stands))


@router.delete(
    "/submissions/{submission_id}",
    response={200: schemas.SubmissionAnswer, (403, 404, 409): schemas.Problem},
    auth=SUBMIT,
)
def withdraw_submission(request: HttpRequest, submission_id: UUID) -> Any:
    """Withdraw a submission permanently. It still counts for the quota."""
    return _serialize(withdraw(get_object_or_404(_list_own(request), pk=submission_id)))


def _list_own(request: HttpRequest) -> QuerySet[Submission]:
    return visibility.list_own(token_of(request).user)


_FIELDS = ("id", "created", "algorithm", "declared", "state", "reason", "counts_for_quota")
_MARK_FIELDS = ("mark", "mark_reason")


def _serialize(submission: Submission) -> dict[str, Any]:
    phase = submission.phase
    return {
        **{name: getattr(submission, name) for name in (*_FIELDS, *_MARK_FIELDS)},
        "chosen": submission.choice == Submission.Choice.CHOSEN,
        # The best one of the chosen submissions stands, so this would reveal their order.
        "stands": submission.stands and not (phase is not None and phase.withholds_scores),
        "challenge": phase.challenge.slug if phase else "",
        "phase": phase.name if phase else "",
    }
