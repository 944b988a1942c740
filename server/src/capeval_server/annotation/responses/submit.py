"""Submission of answers. All are stored, even after their lease.

An answer counts if it fills a slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from capeval_server.annotation.core.digests import compute_digest, draw_number
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.core.slots import (
    get_first_free_slots,
    update_free_counts,
    update_slots_after_answer,
)
from capeval_server.annotation.models import (
    EXCLUDED,
    Assignment,
    Campaign,
    CheckResult,
    Draft,
    Response,
    ReviewRequest,
    Slot,
)
from capeval_server.annotation.responses.assignment import renew_leases
from capeval_server.annotation.responses.context import AnswerContext, open_context
from capeval_server.annotation.responses.failed_checks import hold_failed_checks
from capeval_server.annotation.responses.text_flags import find_flags
from capeval_server.annotation.text_rules.rules import stored_verdict
from capeval_server.annotation.text_rules.validation import check_sentence
from capeval_server.annotation.workers.training import pause_if_failing
from capeval_server.annotation.workers.trust import judge_again, may_replace
from capeval_server.core.errors import AssignmentError, RepeatedKeyError

__all__ = ["FIRST", "KEPT", "SAMPLED", "AnswerOutcome", "SubmittedAnswer", "submit"]

_State = Assignment.State
# Reasons for a review, in addition to flags.
FIRST, SAMPLED = "one of the worker's first", "drawn at random"
KEPT = "kept although a rule asked"
# States of a campaign in which a late answer can still count.
_STILL_COUNTING = (Campaign.State.OPEN, Campaign.State.PAUSED, Campaign.State.CLOSING)


@dataclass(frozen=True, kw_only=True)
class SubmittedAnswer:
    """An answer as sent by a worker.

    Attributes:
        answer: The raw answer.
        revision: 1 for the first answer; or one more than the revision that it replaces.
        key: Idempotency key: a repeated key marks a repeated request.
        events: Counts of events in the worker's browser.
        reasons: The worker's reasons for keeping the sentence, by rule.
    """

    answer: Mapping[str, Any]
    revision: int
    key: str
    events: Mapping[str, Any]
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class AnswerOutcome:
    """The outcome of a submission.

    Attributes:
        response: The stored answer.
        outcome: "stored"; "surplus" if it is stored but does not count; "answered" if another answer of this
            revision is already stored, and this one is not.
        text: Description for the worker.
    """

    response: Response
    outcome: str
    text: str


def submit(assignment: Assignment, given: SubmittedAnswer) -> AnswerOutcome:
    """Store an answer, and renew the leases of the other items that the worker holds.

    Raises:
        AnswerError: The answer is not valid.
        SentenceError: A rule rejects its sentence, or asks for a reason to keep it.
        AssignmentError: It revises an answer that can no longer be revised, or the worker has withdrawn.
        RepeatedKeyError: The key was used for another item.
    """
    with transaction.atomic():
        context = open_context(assignment, given.key)
        known = _find_known(context, given)
        if known is not None:
            return known
        if given.revision > 1:
            _check_revisable(context)
        response = _store(context, given)
        counts = _fill(context, response)
        _judge(context, response)
        _end_assignment(context, response)
        counts = _settle(context, response, counts=counts)
        renew_leases(context.participation, context.options, context.now)
    return _build_outcome(response, counts=counts)


def _find_known(context: AnswerContext, given: SubmittedAnswer) -> AnswerOutcome | None:
    """Return the outcome if this answer, or another one of its revision, is stored."""
    number = 0
    if context.may_be_known:
        answers = Response.objects.filter(participation=context.participation)
        same = answers.filter(key=given.key).first()
        if same is not None:
            if same.assignment_id != context.assignment.pk:
                raise RepeatedKeyError("the idempotency key was already used for another item")
            return _build_outcome(same, counts=_fills_slot(same))
        latest = answers.filter(assignment=context.assignment).latest("revision")
        number = latest.revision
        if given.revision <= number:
            return AnswerOutcome(
                response=latest,
                outcome="answered",
                text=gettext("You have already answered this item in another window."),
            )
    if given.revision > number + 1:
        raise AssignmentError(f"'revision' must be at most {number + 1} (got {given.revision})")
    return None


def _check_revisable(context: AnswerContext) -> None:
    assignment = context.assignment
    if assignment.batch != context.participation.batch:
        raise AssignmentError(gettext("an answer can only be changed until you begin the next batch"))
    if context.campaign.state == Campaign.State.CLOSED:
        raise AssignmentError(gettext("this answer can no longer be changed: the campaign is closed"))
    if assignment.responses.filter(releases__isnull=False).exists():
        raise AssignmentError(gettext("this answer can no longer be changed: it is part of a frozen release"))
    if assignment.responses.filter(reviews__isnull=False).exists():
        raise AssignmentError(gettext("this answer can no longer be changed: it has been reviewed"))


def _store(context: AnswerContext, given: SubmittedAnswer) -> Response:
    item, assignment, task = context.item, context.assignment, context.task
    answer = task.answer(item.payload, given.answer, mirrored=assignment.mirrored)
    verdict = None
    if task.written:
        verdict = check_sentence(context.texts, item, answer[task.written], given.reasons)
    is_trial = assignment.slot_id is None
    return Response.objects.create(
        assignment=assignment,
        participation=context.participation,
        item=item,
        revision=given.revision,
        answer=answer,
        digest=compute_digest(answer),
        may_count=not is_trial,
        texts=context.texts,
        rules={} if verdict is None else stored_verdict(verdict),
        events=dict(given.events),
        key=given.key,
        received=context.now,
    )


def _fill(context: AnswerContext, response: Response) -> bool:
    """Fill the slot that the worker holds or that the former revision fills.

    A late answer fills a free slot.

    Returns:
        Whether the answer fills a slot.
    """
    slot = None
    if response.revision > 1:
        slot = Slot.objects.filter(filled_by__assignment=context.assignment).first()
    elif context.assignment.state == _State.HELD:
        slot = context.assignment.slot
    if slot is None:
        slot = _find_free_slot(context, response)
    # All answers of workers who are blocked or have withdrawn are excluded.
    if slot is None or slot.closed or context.participation.stage in EXCLUDED:
        return False
    slot.filled_by = response
    slot.save(update_fields=["filled_by"])
    return True


def _find_free_slot(context: AnswerContext, response: Response) -> Slot | None:
    """Return a slot for a late answer; None if it can't count."""
    item = context.item
    late = context.assignment.state not in (_State.HELD, _State.SUBMITTED)
    if not response.may_count or not late or item.held or context.campaign.state not in _STILL_COUNTING:
        return None
    trusted = may_replace(context.participation, context.options)
    return get_first_free_slots([item], trusted=trusted).get(item.pk)


def _judge(context: AnswerContext, response: Response) -> None:
    """Grade an answer to a check; request a review of another answer if due."""
    item, task = context.item, context.task
    if item.repeats_id is not None:
        # Self-consistency is only reported; it has no consequences.
        return
    if item.is_check:
        # Only the first answer counts, because a second one may follow a hint that the first was wrong.
        # Answers in a preview don't affect a worker's record, but training is graded even then. Practice
        # sentences are not graded.
        graded = task.choices if item.is_training else context.campaign.state != Campaign.State.PILOT
        if response.revision == 1 and graded:
            passed = task.agrees(response.answer, item.expected)
            CheckResult.objects.create(response=response, passed=passed, expected=item.expected)
            judge_again(context.participation)
            pause_if_failing(context.participation, context.options)
            hold_failed_checks(context)
        return
    if task.reviewed and response.may_count:
        reasons = sorted(_list_review_reasons(context, response) | find_flags(context, response))
        ReviewRequest.objects.bulk_create(
            ReviewRequest(response=response, reason=reason, time=context.now) for reason in reasons
        )


def _list_review_reasons(context: AnswerContext, response: Response) -> set[str]:
    participation, options = context.participation, context.options
    kept = any("reason" in finding for finding in response.rules.get("findings", ()))
    found = {KEPT} if kept else set()
    # A revision is reviewed if the answer that it replaces was to be reviewed.
    if response.revision > 1:
        earlier = ReviewRequest.objects.filter(response__assignment=response.assignment_id)
        return found | set(earlier.values_list("reason", flat=True))
    # Preview answers are not among the first answers.
    before = participation.responses.filter(may_count=True, revision=1).exclude(pk=response.pk)
    if before[: options.review_first].count() < options.review_first:
        return found | {FIRST}
    number = draw_number(options.seed, participation.pk, participation.answered, "review")
    return found | {SAMPLED} if options.review_every and number % options.review_every == 0 else found


def _end_assignment(context: AnswerContext, response: Response) -> None:
    context.assignment.state = _State.SUBMITTED
    context.assignment.save(update_fields=["state"])
    if context.has_draft:
        Draft.objects.filter(assignment=context.assignment).delete()
    if response.revision == 1:
        context.participation.answered += 1
        context.participation.save(update_fields=["answered"])


def _settle(context: AnswerContext, response: Response, *, counts: bool) -> bool:
    """End the items that have enough answers, and update the numbers of free slots.

    Returns:
        Whether the answer still counts.
    """
    changed = update_slots_after_answer(context.voted_items, context.campaign, context.options)
    # Neither held nor filled slots are free, so the usual answer changes no number.
    if context.held_slot != counts:
        changed.add(context.item.pk)
    update_free_counts(changed)
    return counts and (context.item.pk not in changed or _fills_slot(response))


def _fills_slot(response: Response) -> bool:
    """Return whether an answer, or another revision of it, fills a slot."""
    return Slot.objects.filter(filled_by__assignment=response.assignment_id).exists()


def _build_outcome(response: Response, *, counts: bool) -> AnswerOutcome:
    # The outcome must not reveal that an answer was to a check or in a preview.
    if counts or not response.may_count:
        return AnswerOutcome(
            response=response, outcome="stored", text=gettext("Thank you. Your answer is stored.")
        )
    text = gettext(
        "Thank you. Your answer is stored. It arrived after the item was assigned to someone else or taken"
        " back, so it is not used."
    )
    if get_options(response.participation.campaign).pay_per_answer:
        text = gettext(
            "Thank you. Your answer is stored, and is paid for like any other. It arrived after the item was"
            " assigned to someone else or taken back, so it is not used."
        )
    return AnswerOutcome(response=response, outcome="surplus", text=text)
