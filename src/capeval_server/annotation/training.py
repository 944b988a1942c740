"""Training before the work: items with plain answers, explained afterwards, of which enough must be right.

Each try has other items, as nobody gets an item twice. What is answered in training counts in no result, says
nothing of trust, and is paid for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from capeval_server.annotation.departures import check_here
from capeval_server.annotation.locks import lock_participation
from capeval_server.annotation.models import Assignment, Campaign, CheckResult, Item, Participation, Session
from capeval_server.annotation.options import options_of
from capeval_server.annotation.panels import end, open_session
from capeval_server.annotation.tasks import task_named
from capeval_server.errors import AssignmentError, CampaignError
from capeval_server.organising.models import record

__all__ = ["Explained", "Try", "finished_try", "go_on", "next_items", "pause_if_failing", "resume"]

_Stage = Participation.Stage
_State = Assignment.State


@dataclass(frozen=True, kw_only=True)
class Explained:
    """An item of training, with its answer.

    Attributes:
        shown: What the worker saw of it.
        right: Whether their first answer was the expected one; not if they set it aside.
        expected: The expected answer, in the terms in which it was shown.
        explanation: Why.
    """

    shown: Mapping[str, Any]
    right: bool
    expected: Mapping[str, str]
    explanation: str


@dataclass(frozen=True, kw_only=True)
class Try:
    """A try of the training, all of whose items are answered or set aside.

    Attributes:
        right: How many were right.
        needed: How many must be.
        passed: Whether that is enough.
        again: Whether there is another try.
        items: The items with their answers.
    """

    right: int
    needed: int
    passed: bool
    again: bool
    items: list[Explained]


def next_items(participation: Participation) -> QuerySet[Item]:
    """The items of the worker's next try; none if there is no other."""
    options = options_of(participation.campaign)
    had = Assignment.objects.filter(participation=participation, item=OuterRef("pk"))
    used = _tries(participation)
    items = participation.campaign.items.filter(is_training=True, held=False)
    left = items.filter(~Exists(had)).order_by("rank")
    if used >= options.training_tries or left.count() < options.training_items:
        return items.none()
    return left[: options.training_items]


def _given(participation: Participation) -> QuerySet[Assignment]:
    return participation.assignments.filter(item__is_training=True)


def _tries(participation: Participation) -> int:
    return _given(participation).values("batch").distinct().count()


def finished_try(participation: Participation) -> Try | None:
    """The latest try of a worker in training; none before the first, and while one goes on."""
    if participation.stage != _Stage.TRAINING:
        return None
    mine = _given(participation).filter(batch=participation.batch).select_related("item").order_by("place")
    given = list(mine)
    if not given or any(one.state in (_State.HELD, _State.EXPIRED) for one in given):
        return None
    passed = CheckResult.objects.filter(response__assignment__in=given, passed=True)
    right = set(passed.values_list("response__assignment_id", flat=True))
    options = options_of(participation.campaign)
    enough = len(right) >= options.training_right
    return Try(
        right=len(right),
        needed=options.training_right,
        passed=enough,
        again=not enough and next_items(participation).exists(),
        items=[_explained(participation.campaign, one, right=one.pk in right) for one in given],
    )


def _explained(campaign: Campaign, given: Assignment, *, right: bool) -> Explained:
    task = task_named(campaign.kind)
    shown = task.shown(given.item.payload, mirrored=given.mirrored)
    return Explained(
        shown=shown,
        right=right,
        expected=task.in_words(given.item.payload, given.item.expected, mirrored=given.mirrored),
        explanation=given.item.explanation,
    )


def go_on(participation: Participation) -> Participation:
    """Goes on after a try: to the work, to the next try, or out.

    Raises:
        AssignmentError: There is no try that is finished.
    """
    with transaction.atomic():
        now = lock_participation(participation)
        check_here(now)
        done = finished_try(now)
        if done is None:
            raise AssignmentError("please answer all items of the training first")
        if done.again:
            # The next batch is the next try.
            now.batch += 1
            now.save(update_fields=["batch"])
            return now
        now.stage = _Stage.WORKING if done.passed else _Stage.SCREENED_OUT
        now.save(update_fields=["stage"])
        session = open_session(now)
        if session is not None and not done.passed:
            end(session, Session.Outcome.SCREENED_OUT)
    return now


def pause_if_failing(participation: Participation) -> None:
    """Pauses a worker who failed too many of their last checks. Their participation is locked.

    Checks that a person has looked at, and the worker went on, don't count again.
    """
    options = options_of(participation.campaign)
    if not options.pause_failed or participation.stage != _Stage.WORKING:
        return
    checks = _checks(participation).order_by("pk").values_list("passed", flat=True)
    latest = list(checks[participation.checks_looked_at :])[-options.pause_of :]
    if latest.count(False) >= options.pause_failed:
        participation.stage = _Stage.PAUSED
        participation.save(update_fields=["stage"])


def _checks(participation: Participation) -> QuerySet[CheckResult]:
    mine = CheckResult.objects.filter(response__participation=participation)
    return mine.filter(response__item__is_training=False)


def resume(user: User | None, participation: Participation, reason: str) -> Participation:
    """Lets a worker go on who was paused: somebody has looked at their work.

    Raises:
        CampaignError: They are not paused, or no reason is given.
    """
    if not reason.strip():
        raise CampaignError("say in 'reason' why the worker goes on")
    with transaction.atomic():
        now = lock_participation(participation)
        if now.stage != _Stage.PAUSED:
            raise CampaignError(f"only a worker who is paused goes on again (got {now.stage!r})")
        now.stage = _Stage.WORKING
        now.checks_looked_at = _checks(now).count()
        now.save(update_fields=["stage", "checks_looked_at"])
        what = f"let the worker {now.worker} go on in the campaign {now.campaign.slug}: {reason.strip()}"
        record(user, now.campaign.challenge, what)
    return now
