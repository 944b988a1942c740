"""Worker API of annotation campaigns: all features of the worker pages."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from ninja import Router, Schema, Status
from ninja.security import HttpBearer
from pydantic import Field

from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import LONGEST_NOTE, Assignment, Campaign, Draft, Participation, Worker
from capeval_server.annotation.responses import assignment, content_warnings, session_end, submit
from capeval_server.annotation.review import withdrawal
from capeval_server.annotation.task_types import task_of
from capeval_server.annotation.text_rules import validation
from capeval_server.annotation.text_rules.rules import RuleViolation
from capeval_server.annotation.workers import enrollment, panels, training
from capeval_server.api.authentication import SUBMIT
from capeval_server.api.derived_schemas import derived_from
from capeval_server.api.path_parameters import ImageSize, Slug
from capeval_server.api.schemas import Problem, RequestBody
from capeval_server.core.errors import NotFoundError
from capeval_server.http.stored_images import send_jpeg

__all__ = ["router"]

Note = Annotated[str, Field(max_length=LONGEST_NOTE, pattern=r"^[^\x00]*$")]
Name = Annotated[str, Field(pattern="^[a-z_]{1,30}$")]
RuleName = Annotated[str, Field(pattern="^[a-z-]{1,30}$")]
Count = Annotated[float, Field(ge=0, le=10**9, allow_inf_nan=False)]
Typed = Annotated[str, Field(max_length=5000, pattern=r"^[^\x00]*$")]
Key = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[\x21-\x7e]+$")]


class WorkerBearer(HttpBearer):
    """Bearer authentication of workers.

    Accepts invite tokens, tokens of panel sessions, and users' API tokens of scope `submit`.
    """

    def authenticate(self, request: HttpRequest, token: str) -> Any:
        """Return the API token, or the text of an invite or panel token.

        Views check later that an invite or panel token belongs to the campaign.
        """
        if token.startswith(panels.PREFIX):
            return token
        if token.startswith(enrollment.PREFIX):
            return token if Worker.objects.filter(digest=enrollment.digest_of_token(token)).exists() else None
        return SUBMIT.authenticate(request, token)


router = Router(auth=WorkerBearer(), tags=["Annotating"])


class WorkerTexts(Schema):
    """Instructions and consent text, in Markdown, with their version number."""

    number: int
    instructions: str
    consent: str


class StudyInformation(Schema):
    """Information about the study that belongs to the consent. Unknown texts are empty."""

    run_by: str
    contact: str
    license: str
    pay_terms: str
    pay_per_answer: str
    currency: str


@derived_from(training.TrainingPlan)
class TrainingPlanAnswer(Schema):
    """Training that comes before the work."""


class ParticipationAnswer(Schema):
    """A worker in a campaign."""

    title: str
    kind: str
    stage: str
    answered: int
    avoids_warnings: bool
    texts: WorkerTexts
    study: StudyInformation
    training: TrainingPlanAnswer | None


class ConsentAgreement(RequestBody):
    """Agreement of a worker to a version of the texts."""

    texts: Annotated[int, Field(ge=1, le=10**9)]


class Warnings(RequestBody):
    """Whether the worker avoids images with a content warning."""

    avoid: bool


class AssignedImage(Schema):
    """Addresses of an item's image as JPEG, at most 480 (`small`) or 1600 (`large`) pixels wide or high.

    Requests to them need the worker's token.
    """

    small: str
    large: str


class AssignedItem(Schema):
    """An item to answer.

    `kind` is the task type of the campaign, or `quiz` for a training question about the rules. `place` is the
    position of the item in its batch of `of` items. An image with a `warning` must
    only be shown on request.
    """

    lease: UUID
    kind: str
    place: int
    of: int
    state: str
    lease_until: datetime
    shown: dict[str, Any]
    image: AssignedImage | None
    warning: str
    draft: dict[str, Any] | None
    revision: int


@derived_from(panels.SessionEnd)
class SessionEndAnswer(Schema):
    """End of the session of a panel worker."""


class Batch(Schema):
    """The items to answer now.

    If there are none, `why` is the reason. `end` is set at the end of a panel worker's session.
    """

    items: list[AssignedItem]
    training: bool
    why: str
    end: SessionEndAnswer | None


class Answer(RequestBody):
    """An answer.

    `key` is an idempotency key: answers with the same key are stored once. `reasons` are the reasons for
    keeping a caption, by the rule that requires one.
    """

    answer: dict[str, Any]
    revision: Annotated[int, Field(ge=1, le=1000)] = 1
    key: Key
    events: Annotated[dict[Name, Count], Field(max_length=50)] = Field(default_factory=dict)
    reasons: Annotated[dict[RuleName, Note], Field(max_length=50)] = Field(default_factory=dict)


class AnswerReceipt(Schema):
    """Outcome of an answer.

    `outcome` is "stored", "surplus" if the answer is not needed, or "answered" if a different answer is
    already stored.
    """

    outcome: str
    text: str
    revision: int


class CaptionToCheck(RequestBody):
    """A caption that is being written."""

    caption: Typed


@derived_from(RuleViolation)
class RuleViolationAnswer(Schema):
    """Rule that a caption breaks."""


@derived_from(validation.SentenceCheck)
class CaptionCheck(Schema):
    """Result of checking an unsent caption against the rules."""


class DraftContent(RequestBody):
    """Unsent text of an answer, by field."""

    content: Annotated[dict[Name, Typed], Field(max_length=10)]


class SkipReason(RequestBody):
    """Reason for skipping or returning an item."""

    reason: Note = ""


class ItemReport(RequestBody):
    """Problem with an item."""

    reason: Literal[
        "not loading", "offensive", "face", "number plate", "personal data", "other language", "other"
    ]
    note: Note = ""


@derived_from(withdrawal.WithdrawalEffect)
class WithdrawalEffectAnswer(Schema):
    """Effect of a withdrawal."""


class WithdrawalAnswer(WithdrawalEffectAnswer):
    """Effect of a withdrawal and, for a panel worker, the completion code."""

    end: SessionEndAnswer | None


class PanelParameters(RequestBody):
    """Query parameters of a panel's link."""

    parameters: Annotated[dict[str, Annotated[str, Field(max_length=8000)]], Field(max_length=50)]


class WorkerToken(Schema):
    """Token of a panel worker's session, used like an invite token."""

    token: str


class SessionOutcome(RequestBody):
    """Reason for which a worker ends their session."""

    outcome: Literal["no_consent", "unsuitable", "returned", "nothing_left"]


@derived_from(training.TrainingFeedback, without=("task", "lease", "image", "held"))
class TrainingFeedbackAnswer(Schema):
    """Item of the training, with its answer."""


@derived_from(training.TrainingAttempt)
class TrainingAttemptAnswer(Schema):
    """Finished attempt of the training."""


class ItemState(Schema):
    """New state of an item that was skipped, returned or reported."""

    state: str


def _get_active_participation(request: HttpRequest, slug: str) -> Participation:
    """Return the participation of the authenticated worker in a campaign.

    Raises:
        NotFoundError: The campaign does not exist, or the worker is not in it.
        AssignmentError: The worker has left the campaign, or is not allowed to take part.
    """
    found = _get_participation(request, slug)
    enrollment.check_conflicts(found)
    return found


def _get_participation(request: HttpRequest, slug: str) -> Participation:
    """Like `_get_active_participation`, but accept workers that may no longer work."""
    known: Any = request.auth  # type: ignore[attr-defined]
    try:
        campaign = get_object_or_404(Campaign, slug=slug)
        if isinstance(known, str):
            return enrollment.get_invited(campaign, known)
        return enrollment.enter_as_user(known.user, campaign)
    except (Http404, NotFoundError):
        # The same for drafts, so that their names stay private.
        raise NotFoundError(f"there is no open campaign {slug!r} for this token") from None


def _list_image_addresses(request: HttpRequest, slug: str, lease: UUID) -> dict[str, str]:
    return {
        size: request.build_absolute_uri(
            reverse("api:assigned_image", kwargs={"slug": slug, "lease": lease, "size": size})
        )
        for size in ("small", "large")
    }


def _serialize_item(
    request: HttpRequest, participation: Participation, held: Assignment, number: int
) -> dict[str, Any]:
    draft = Draft.objects.filter(assignment=held).first()
    task = task_of(held.item, participation.campaign)
    return {
        "lease": held.lease,
        "kind": task.name,
        "place": held.place,
        "of": number,
        "state": held.state,
        "lease_until": held.lease_until,
        "shown": task.shown(held.item.payload, mirrored=held.mirrored),
        "image": _list_image_addresses(request, participation.campaign.slug, held.lease)
        if held.item.image
        else None,
        "warning": held.item.image.warning if held.item.image else "",
        "draft": draft.content if draft else None,
        "revision": held.responses.count() + 1,
    }


def _serialize_participation(participation: Participation) -> dict[str, Any]:
    campaign = participation.campaign
    texts = enrollment.latest_texts(campaign)
    return {
        "title": campaign.title,
        "kind": campaign.kind,
        "stage": participation.stage,
        "answered": participation.answered,
        "avoids_warnings": participation.avoids_warnings,
        "texts": texts,
        "study": get_options(campaign),
        "training": training.plan_training(campaign),
    }


@router.get("", response={200: ParticipationAnswer, (403, 404, 409): Problem})
def enter(request: HttpRequest, slug: Slug) -> Any:
    """Return the state of the worker in the campaign, and the texts to agree to."""
    return _serialize_participation(_get_active_participation(request, slug))


@router.post("/agree", response={200: ParticipationAnswer, (403, 404, 409): Problem})
def agree(request: HttpRequest, slug: Slug, agreed: ConsentAgreement) -> Any:
    """Agree to a version of the texts, which must be the latest."""
    found = _get_active_participation(request, slug)
    return _serialize_participation(enrollment.agree(found, agreed.texts))


@router.put("/warnings", response={200: ParticipationAnswer, (403, 404, 409): Problem})
def choose_warnings(request: HttpRequest, slug: Slug, wanted: Warnings) -> Any:
    """Set whether the worker avoids images with a content warning.

    The choice can be changed at any time.
    """
    return _serialize_participation(
        content_warnings.avoid_warnings(_get_active_participation(request, slug), avoid=wanted.avoid)
    )


@router.post("/next", response={200: Batch, (403, 404, 409): Problem})
def get_batch(request: HttpRequest, slug: Slug) -> Any:
    """Return the items assigned to the worker, or assign a new batch."""
    found = _get_active_participation(request, slug)
    work = assignment.assign_work(found)
    number = found.assignments.filter(batch=work.assignments[0].batch).count() if work.assignments else 0
    items = [_serialize_item(request, found, held, number) for held in work.assignments]
    trains = bool(items) and work.assignments[0].item.is_training
    return {
        "items": items,
        "training": trains,
        "why": work.why,
        "end": None if items else panels.get_session_end(found),
    }


@router.get("/training", response={200: TrainingAttemptAnswer, (403, 404, 409): Problem})
def get_training_attempt(request: HttpRequest, slug: Slug) -> Any:
    """Return the finished training attempt to review, with its answers; 404 if none."""
    found = training.finished_try(_get_active_participation(request, slug))
    if found is None:
        raise NotFoundError
    return found


@router.post("/training", response={200: ParticipationAnswer, (403, 404, 409): Problem})
def continue_after_training(request: HttpRequest, slug: Slug) -> Any:
    """Continue after a training attempt.

    Depending on the result, the worker continues with the campaign's items, another attempt or practice, or
    is screened out.
    """
    return _serialize_participation(training.continue_training(_get_active_participation(request, slug)))


@router.post("/renew", response={204: None, (403, 404, 409): Problem})
def renew(request: HttpRequest, slug: Slug) -> Any:
    """Renew the leases of all items assigned to the worker."""
    assignment.renew_all_leases(_get_active_participation(request, slug))
    return Status(204, None)


@router.post("/items/{lease}/answer", response={200: AnswerReceipt, (403, 404, 409, 422): Problem})
def answer(request: HttpRequest, slug: Slug, lease: UUID, given: Answer) -> Any:
    """Answer an item, or revise the answer while its batch is the latest.

    An answer is accepted even if the lease has expired.
    """
    held = assignment.get_assignment(_get_active_participation(request, slug), lease)
    sent = submit.SubmittedAnswer(
        answer=given.answer,
        revision=given.revision,
        key=given.key,
        events=given.events,
        reasons=given.reasons,
    )
    done = submit.submit(held, sent)
    return {"outcome": done.outcome, "text": done.text, "revision": done.response.revision}


@router.get(
    "/items/{lease}/image/{size}",
    response={200: None, (403, 404, 409): Problem},
    url_name="assigned_image",
)
def image(request: HttpRequest, slug: Slug, lease: UUID, size: ImageSize) -> Any:
    """Return the image of an assigned item as JPEG.

    For an image with a content warning, the first request is recorded.
    """
    held = assignment.get_assignment(_get_active_participation(request, slug), lease)
    return send_jpeg(getattr(content_warnings.show_image(held), size))


@router.post("/items/{lease}/check", response={200: CaptionCheck, (403, 404, 409, 422): Problem})
def check(request: HttpRequest, slug: Slug, lease: UUID, written: CaptionToCheck) -> Any:
    """Check a caption against the rules without storing it."""
    participation = _get_active_participation(request, slug)
    held = assignment.get_assignment(participation, lease)
    if not task_of(held.item, participation.campaign).written:
        raise NotFoundError
    texts = enrollment.latest_texts(participation.campaign)
    return validation.check_draft(texts, held.item, written.caption)


@router.put("/items/{lease}/draft", response={204: None, (403, 404, 409): Problem})
def save_draft(request: HttpRequest, slug: Slug, lease: UUID, draft: DraftContent) -> Any:
    """Save a draft, and renew the leases of the worker's items."""
    assignment.save_draft(
        assignment.get_assignment(_get_active_participation(request, slug), lease), dict(draft.content)
    )
    return Status(204, None)


@router.post("/items/{lease}/skip", response={200: ItemState, (403, 404, 409): Problem})
def skip(request: HttpRequest, slug: Slug, lease: UUID, why: SkipReason) -> Any:
    """Skip an item permanently."""
    held = assignment.get_assignment(_get_active_participation(request, slug), lease)
    assignment.set_aside(held, Assignment.State.SKIPPED, why.reason)
    return {"state": Assignment.State.SKIPPED}


@router.post("/items/{lease}/return", response={200: ItemState, (403, 404, 409): Problem})
def return_item(request: HttpRequest, slug: Slug, lease: UUID, why: SkipReason) -> Any:
    """Return an item unanswered, for example when stopping work."""
    held = assignment.get_assignment(_get_active_participation(request, slug), lease)
    assignment.set_aside(held, Assignment.State.RETURNED, why.reason)
    return {"state": Assignment.State.RETURNED}


@router.post("/items/{lease}/report", response={200: ItemState, (403, 404, 409): Problem})
def report(request: HttpRequest, slug: Slug, lease: UUID, wrong: ItemReport) -> Any:
    """Report a problem with an item instead of answering it."""
    held = assignment.get_assignment(_get_active_participation(request, slug), lease)
    assignment.report_item(held, wrong.reason, wrong.note)
    return {"state": Assignment.State.REPORTED}


@router.get("/withdraw", response={200: WithdrawalEffectAnswer, (403, 404, 409): Problem})
def effect_of_withdrawing(request: HttpRequest, slug: Slug) -> Any:
    """Return the effect that withdrawing would have."""
    return withdrawal.effect_of_withdrawing(_get_participation(request, slug))


@router.post("/withdraw", response={200: WithdrawalAnswer, (403, 404, 409): Problem})
def withdraw(request: HttpRequest, slug: Slug) -> Any:
    """Leave the campaign permanently.

    Answers that are not in a frozen release are removed, and so is the worker's identity.
    """
    found = _get_participation(request, slug)
    done = withdrawal.withdraw(None, found, by_worker=True)
    return {**asdict(done), "end": panels.get_session_end(found)}


@router.post("/enter", auth=None, response={201: WorkerToken, (403, 404, 409): Problem})
def enter_from_panel(request: HttpRequest, slug: Slug, given: PanelParameters) -> Any:
    """Enter from a panel: exchange the parameters of its link for a session token."""
    try:
        found = panels.enter(get_object_or_404(Campaign, slug=slug), given.parameters)
    except (Http404, NotFoundError):
        raise NotFoundError(f"there is no open campaign {slug!r} with a panel") from None
    return Status(201, {"token": panels.token_of(found)})


@router.post("/finish", response={200: SessionEndAnswer, (403, 404, 409): Problem})
def finish(request: HttpRequest, slug: Slug, how: SessionOutcome) -> Any:
    """End the session of a panel worker."""
    found = _get_active_participation(request, slug)
    session_end.end_session(found, how.outcome)
    return panels.get_session_end(found)
