"""Taking answers: each is stored, whatever became of its lease; it counts if there is a slot for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from capeval_server.annotation.core.departures import check_here
from capeval_server.annotation.core.digests import digest_of, drawn
from capeval_server.annotation.core.locks import lock_participation, lock_voted
from capeval_server.annotation.core.options import CampaignOptions, options_of
from capeval_server.annotation.core.slots import first_free, settle
from capeval_server.annotation.models import (
    EXCLUDED,
    Assignment,
    Campaign,
    CheckResult,
    Draft,
    Item,
    Participation,
    Response,
    ReviewRequest,
    Slot,
)
from capeval_server.annotation.responses.assignment import renew_leases
from capeval_server.annotation.responses.failed_checks import take_out_failed
from capeval_server.annotation.responses.text_flags import signals_of
from capeval_server.annotation.task_types import task_of
from capeval_server.annotation.text_rules.rules import stored_verdict
from capeval_server.annotation.text_rules.validation import checked
from capeval_server.annotation.workers.training import pause_if_failing
from capeval_server.annotation.workers.trust import is_trusted, judge_again
from capeval_server.core.errors import AssignmentError, RepeatedKeyError
from capeval_server.jobs.leases import database_time

__all__ = ["FIRST", "KEPT", "SAMPLED", "AnswerOutcome", "SubmittedAnswer", "submit"]

_State = Assignment.State
# Why an answer is looked at by a person, beside what rules and signals say.
FIRST, SAMPLED = "one of the worker's first", "drawn at random"
KEPT = "kept although a rule asked"
_SURPLUS = (
    "Thank you. Your answer is stored{paid}. It came after the item was given to somebody else or taken back,"
    " so it is not used."
)
_PAID = ", and is paid for like any other"
_STORED = "Thank you. Your answer is stored."
# States of a campaign in which an answer that comes late may still count.
_COUNTING = (Campaign.State.OPEN, Campaign.State.PAUSED, Campaign.State.CLOSING)


@dataclass(frozen=True, kw_only=True)
class SubmittedAnswer:
    """What a worker sends.

    Attributes:
        answer: The raw answer.
        revision: 1; or one more than the revision that it replaces.
        key: An idempotency key: the same key again is the same answer sent again.
        events: What the browser counted meanwhile.
        reasons: Why the worker keeps a sentence that rules ask about, by rule.
    """

    answer: Mapping[str, Any]
    revision: int
    key: str
    events: Mapping[str, Any]
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class AnswerOutcome:
    """What became of an answer.

    Attributes:
        response: The answer, as it is stored.
        outcome: "stored"; "surplus": stored, and of no use to this item; "answered": another answer of this
            revision is stored, and this one is not.
        text: That in words, for the worker.
    """

    response: Response
    outcome: str
    text: str


def submit(assignment: Assignment, given: SubmittedAnswer) -> AnswerOutcome:
    """Store an answer, and renew the leases of the other items that the worker holds.

    Raises:
        AnswerError: The answer is not valid.
        SentenceError: A rule refuses its sentence, or asks why it is kept.
        AssignmentError: It would revise an answer that can't be revised any more, or the worker has left.
        RepeatedKeyError: The key was used for another item.
    """
    with transaction.atomic():
        participation = lock_participation(assignment.participation)
        check_here(participation)
        item = lock_voted([assignment.item_id], participation.campaign)[assignment.item_id]
        now = Assignment.objects.select_related("slot").get(pk=assignment.pk)
        known = _known(participation, now, given)
        if known is not None:
            return known
        if given.revision > 1:
            _check_revisable(participation, now)
        response = _stored(participation, now, item, given)
        _fill(participation, now, item, response)
        _judge(participation, item, response)
        _ended(participation, now, response)
        settle([item.pk], participation.campaign, voted=True)
        renew_leases(participation)
    return _outcome(response)


def _known(
    participation: Participation, assignment: Assignment, given: SubmittedAnswer
) -> AnswerOutcome | None:
    """What became of this answer, if it, or another of its revision, is stored already."""
    same = Response.objects.filter(participation=participation, key=given.key).first()
    if same is not None:
        if same.assignment_id != assignment.pk:
            raise RepeatedKeyError("the idempotency key was already used for another item")
        return _outcome(same)
    latest = assignment.responses.order_by("-revision").first()
    number = latest.revision if latest else 0
    if given.revision > number + 1:
        raise AssignmentError(f"'revision' must be at most {number + 1} (got {given.revision})")
    if latest is not None and given.revision <= number:
        return AnswerOutcome(
            response=latest,
            outcome="answered",
            text="You have answered this item already, in another window.",
        )
    return None


def _check_revisable(participation: Participation, assignment: Assignment) -> None:
    if assignment.batch != participation.batch:
        raise AssignmentError("an answer can be changed until you begin the next batch, which you have")
    if participation.campaign.state == Campaign.State.CLOSED:
        raise AssignmentError("this campaign is closed: its answers don't change any more")
    if assignment.responses.filter(releases__isnull=False).exists():
        raise AssignmentError("this answer is part of a frozen release: it can't be changed any more")
    if assignment.responses.filter(reviews__isnull=False).exists():
        raise AssignmentError("somebody has looked at this answer: it can't be changed any more")


def _stored(
    participation: Participation, assignment: Assignment, item: Item, given: SubmittedAnswer
) -> Response:
    campaign = participation.campaign
    task = task_of(item, campaign)
    answer = task.answer(item.payload, given.answer, mirrored=assignment.mirrored)
    texts = campaign.texts.order_by("number").last()
    if texts is None:
        raise AssignmentError("this campaign has no instructions")
    said = checked(texts, item, answer, given.reasons)
    is_trial = assignment.slot_id is None
    return Response.objects.create(
        assignment=assignment,
        participation=participation,
        item=item,
        revision=given.revision,
        answer=answer,
        digest=digest_of(answer),
        may_count=not is_trial,
        texts=texts,
        rules={} if said is None else stored_verdict(said),
        events=dict(given.events),
        key=given.key,
        received=database_time(),
    )


def _fill(participation: Participation, assignment: Assignment, item: Item, response: Response) -> None:
    """Has an answer fill the slot that its worker holds, or that its former revision fills, or a free one."""
    slot = None
    if response.revision > 1:
        slot = Slot.objects.filter(filled_by__assignment=assignment).first()
    elif assignment.state == _State.HELD:
        slot = assignment.slot
    if slot is None:
        slot = _free_slot(participation, assignment, item, response)
    # A worker who is blocked or has left is so by an exclusion of all their answers.
    if slot is None or slot.closed or participation.stage in EXCLUDED:
        return
    slot.filled_by = response
    slot.save(update_fields=["filled_by"])


def _free_slot(
    participation: Participation, assignment: Assignment, item: Item, response: Response
) -> Slot | None:
    """A slot for an answer that came late; none if it may not count."""
    late = assignment.state not in (_State.HELD, _State.SUBMITTED)
    if not response.may_count or not late or item.held or participation.campaign.state not in _COUNTING:
        return None
    options = options_of(participation.campaign)
    return first_free([item], trusted=is_trusted(participation, options)).get(item.pk)


def _judge(participation: Participation, item: Item, response: Response) -> None:
    """Checks an answer to a check, and asks for a review of others where one is due."""
    if item.repeats_id is not None:
        # How far a worker agrees with themselves is shown, and judges nobody.
        return
    task = task_of(item, participation.campaign)
    if item.is_check:
        # The first answer counts: a second one may come from having seen that something was wrong. A trial
        # says nothing of a worker, who is trained in it all the same. A sentence that is written as practice
        # is neither right nor wrong.
        judged = task.choices if item.is_training else participation.campaign.state != Campaign.State.PILOT
        if response.revision == 1 and judged:
            passed = task.agrees(response.answer, item.expected)
            CheckResult.objects.create(response=response, passed=passed, expected=item.expected)
            judge_again(participation)
            pause_if_failing(participation)
            take_out_failed(participation, item)
        return
    options = options_of(participation.campaign)
    if task.reviewed and response.may_count:
        reasons = _reasons_for_review(participation, options, response)
        for reason in sorted(reasons | signals_of(participation, item, response)):
            ReviewRequest.objects.create(response=response, reason=reason, time=response.received)


def _reasons_for_review(
    participation: Participation, options: CampaignOptions, response: Response
) -> set[str]:
    kept = any("reason" in finding for finding in response.rules.get("findings", ()))
    found = {KEPT} if kept else set()
    # A revision is looked at if what it replaces was to be.
    if response.revision > 1:
        earlier = ReviewRequest.objects.filter(response__assignment=response.assignment_id)
        return found | set(earlier.values_list("reason", flat=True))
    # Trials don't use up the first ones.
    before = participation.responses.filter(may_count=True, revision=1).exclude(pk=response.pk)
    if before[: options.review_first].count() < options.review_first:
        return found | {FIRST}
    number = drawn(options.seed, participation.pk, participation.answered, "review")
    return found | {SAMPLED} if options.review_every and number % options.review_every == 0 else found


def _ended(participation: Participation, assignment: Assignment, response: Response) -> None:
    assignment.state = _State.SUBMITTED
    assignment.save(update_fields=["state"])
    Draft.objects.filter(assignment=assignment).delete()
    if response.revision == 1:
        participation.answered += 1
        participation.save(update_fields=["answered"])


def _outcome(response: Response) -> AnswerOutcome:
    # Checks and trials are stored, as all else: nothing tells them apart.
    counts = (
        not response.may_count or Slot.objects.filter(filled_by__assignment=response.assignment_id).exists()
    )
    if counts:
        return AnswerOutcome(response=response, outcome="stored", text=_STORED)
    pay = options_of(response.participation.campaign).pay_per_answer
    return AnswerOutcome(
        response=response, outcome="surplus", text=_SURPLUS.format(paid=_PAID if pay else "")
    )
