"""Training before the work: graded items with explanations, and writing practice.

In campaigns with choices, workers answer items with clear answers. In writing campaigns, they first decide
which sentences break the rules, and then write practice sentences. These are not graded: workers see the
findings of the rules, and a sentence by the organizers.

Each attempt has different items, because no worker is assigned an item twice. Training answers appear in no
result and don't affect trust, but they are paid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.utils.translation import gettext

from capeval_server.annotation.core.departures import check_not_withdrawn
from capeval_server.annotation.core.locks import lock_participation
from capeval_server.annotation.core.options import CampaignOptions, get_options
from capeval_server.annotation.models import (
    Assignment,
    Campaign,
    CheckResult,
    Image,
    Item,
    Participation,
    Response,
    Session,
)
from capeval_server.annotation.task_types import TaskType, task_named, task_of
from capeval_server.annotation.text_rules.rules import RuleViolation
from capeval_server.annotation.text_rules.validation import check_draft
from capeval_server.annotation.workers.panels import end, open_session
from capeval_server.audit.models import record
from capeval_server.core.errors import AssignmentError, CampaignError

__all__ = [
    "MOST_PRACTICED",
    "TrainingAttempt",
    "TrainingFeedback",
    "TrainingPlan",
    "continue_training",
    "finished_try",
    "graded_items",
    "next_items",
    "pause_if_failing",
    "plan_training",
    "resume",
]

# Maximum number of practice sentences: the size limit of a batch.
MOST_PRACTICED = 50

_Stage = Participation.Stage
_State = Assignment.State


@dataclass(frozen=True, kw_only=True)
class TrainingFeedback:
    """Training item with the worker's answer and the expected one.

    Attributes:
        task: Task type of the item.
        shown: Content of the item, as the worker saw it.
        lease: Lease by which the worker had the item.
        image: Image of the item.
        held: Whether the item has been put on hold since.
        right: Whether the worker's first answer was the expected one; false for a skipped item.
        given: First answer of the worker by question, on the sides that were shown; empty for skipped items
            and practice sentences.
        written: Practice sentence of the worker; empty for a skipped item and for questions with choices.
        findings: Rules that the sentence breaks.
        expected: Expected answer by question, on the sides that were shown; or the organizers' sentence.
        explanation: Reason for the expected answer.
    """

    task: TaskType
    shown: Mapping[str, Any]
    lease: UUID
    image: Image | None
    held: bool
    right: bool
    given: Mapping[str, str]
    written: str
    findings: tuple[RuleViolation, ...]
    expected: Mapping[str, str]
    explanation: str


@dataclass(frozen=True, kw_only=True)
class TrainingAttempt:
    """Completed training attempt: all of its items were answered or skipped.

    Attributes:
        right: Number of correct answers.
        needed: Number of correct answers required to pass; 0 for practice.
        passed: Whether the attempt is passed.
        again: Whether the worker has another attempt.
        practice: Whether the items were practice sentences, which are neither right nor wrong.
        more: Whether practice comes next.
        items: Items with their answers.
    """

    right: int
    needed: int
    passed: bool
    again: bool
    practice: bool
    more: bool
    items: list[TrainingFeedback]


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """Training that comes before the work.

    Attributes:
        items: Number of graded items per attempt; 0 if none is graded.
        right: Number of correct answers required to pass.
        tries: Maximum number of attempts.
        practice: Number of practice sentences.
    """

    items: int
    right: int
    tries: int
    practice: int


def plan_training(campaign: Campaign) -> TrainingPlan | None:
    """Return the training of a campaign; None if it has none."""
    graded = graded_items(campaign).count()
    practice = campaign.items.filter(is_training=True).count() - graded
    if not graded and not practice:
        return None
    options = get_options(campaign)
    return TrainingPlan(
        items=options.training_items if graded else 0,
        right=options.training_right if graded else 0,
        tries=options.training_tries if graded else 0,
        practice=practice,
    )


def graded_items(campaign: Campaign) -> QuerySet[Item]:
    """Return the graded items of the training, without writing practice."""
    items = campaign.items.filter(is_training=True)
    return items.filter(is_quiz=True) if task_named(campaign.kind).written else items


def next_items(participation: Participation) -> QuerySet[Item]:
    """Return the items of the worker's next attempt, or of the writing practice.

    The result is empty if no attempt and no practice is left.
    """
    campaign, options = participation.campaign, get_options(participation.campaign)
    had = Assignment.objects.filter(participation=participation, item=OuterRef("pk"))
    left = campaign.items.filter(~Exists(had), is_training=True, held=False).order_by("rank")
    left = participation.unwarned(left)
    graded = graded_items(campaign)
    if not graded.exists() or _has_passed(participation, options):
        return left.exclude(pk__in=graded.values("pk"))
    left = left.filter(pk__in=graded.values("pk"))
    if _count_attempts(participation) >= options.training_tries or left.count() < options.training_items:
        return left.none()
    return left[: options.training_items]


def _has_passed(participation: Participation, options: CampaignOptions) -> bool:
    """Return whether one of the attempts had enough correct answers."""
    right = CheckResult.objects.filter(
        response__participation=participation, response__item__is_training=True, passed=True
    )
    tries = right.order_by().values("response__assignment__batch").annotate(right=Count("pk"))
    return tries.filter(right__gte=options.training_right).exists()


def _list_training(participation: Participation) -> QuerySet[Assignment]:
    return participation.assignments.filter(item__is_training=True)


def _count_attempts(participation: Participation) -> int:
    return _list_training(participation).values("batch").distinct().count()


def finished_try(participation: Participation) -> TrainingAttempt | None:
    """Return the worker's latest attempt of the training if it is completed, or None."""
    if participation.stage != _Stage.TRAINING:
        return None
    mine = _list_training(participation).filter(batch=participation.batch).order_by("place")
    given = list(mine.select_related("item__image"))
    if not given or any(one.state in (_State.HELD, _State.EXPIRED) for one in given):
        return None
    passed = CheckResult.objects.filter(response__assignment__in=given, passed=True)
    right = set(passed.values_list("response__assignment_id", flat=True))
    practice = bool(task_of(given[0].item, participation.campaign).written)
    needed = 0 if practice else get_options(participation.campaign).training_right
    enough = len(right) >= needed
    there_is_more = next_items(participation).exists()
    return TrainingAttempt(
        right=len(right),
        needed=needed,
        passed=enough,
        again=not enough and there_is_more,
        practice=practice,
        more=enough and there_is_more,
        items=[_build_feedback(participation.campaign, one, right=one.pk in right) for one in given],
    )


def _build_feedback(campaign: Campaign, given: Assignment, *, right: bool) -> TrainingFeedback:
    task, answers = task_of(given.item, campaign), given.responses.order_by("revision")
    latest = answers.select_related("texts").last() if task.written else None
    first = None if task.written else answers.first()
    written = "" if latest is None else str(latest.answer.get(task.written, ""))
    return TrainingFeedback(
        task=task,
        shown=task.shown(given.item.payload, mirrored=given.mirrored),
        lease=given.lease,
        image=given.item.image,
        held=given.item.held,
        right=right,
        given=task.in_words(given.item.payload, first.answer, mirrored=given.mirrored) if first else {},
        written=written,
        findings=_list_violations(latest, given.item, written),
        expected=task.in_words(given.item.payload, given.item.expected, mirrored=given.mirrored),
        explanation=given.item.explanation,
    )


def _list_violations(response: Response | None, item: Item, written: str) -> tuple[RuleViolation, ...]:
    """Return the broken rules of a sentence, by the rules at the time of the answer."""
    return () if response is None or not written else check_draft(response.texts, item, written).findings


def continue_training(participation: Participation) -> Participation:
    """Continue after an attempt: with work, another attempt or practice, or end.

    Raises:
        AssignmentError: No attempt is completed.
    """
    with transaction.atomic():
        now = lock_participation(participation)
        check_not_withdrawn(now)
        done = finished_try(now)
        if done is None:
            raise AssignmentError(gettext("please answer all items of the training first"))
        if done.again or done.more:
            # The next batch is the next attempt, or the practice.
            now.batch += 1
            now.save(update_fields=["batch"])
            return now
        now.stage = _Stage.WORKING if done.passed else _Stage.SCREENED_OUT
        now.save(update_fields=["stage"])
        session = open_session(now)
        if session is not None and not done.passed:
            end(session, Session.Outcome.SCREENED_OUT)
    return now


def pause_if_failing(participation: Participation, options: CampaignOptions) -> None:
    """Pause a worker after too many failures among the latest checks.

    The participation is locked. Checks before the worker was last resumed don't count again.
    """
    if not options.pause_failed or participation.stage != _Stage.WORKING:
        return
    checks = _list_checks(participation).order_by("pk").values_list("passed", flat=True)
    latest = list(checks[participation.checks_looked_at :])[-options.pause_of :]
    if latest.count(False) >= options.pause_failed:
        participation.stage = _Stage.PAUSED
        participation.save(update_fields=["stage"])


def _list_checks(participation: Participation) -> QuerySet[CheckResult]:
    mine = CheckResult.objects.filter(response__participation=participation)
    return mine.filter(response__item__is_training=False)


def resume(user: User | None, participation: Participation, reason: str) -> Participation:
    """Let a paused worker continue after a review of their work.

    Raises:
        CampaignError: The worker is not paused, or the reason is empty.
    """
    if not reason.strip():
        raise CampaignError("'reason' is required to resume a worker")
    with transaction.atomic():
        now = lock_participation(participation)
        if now.stage != _Stage.PAUSED:
            raise CampaignError(f"only a paused worker can be resumed (got {now.stage!r})")
        now.stage = _Stage.WORKING
        now.checks_looked_at = _list_checks(now).count()
        now.save(update_fields=["stage", "checks_looked_at"])
        what = f"resumed the worker {now.worker} in the campaign {now.campaign.slug}: {reason.strip()}"
        record(user, now.campaign.challenge, what)
    return now
