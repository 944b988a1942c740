"""The states of a submission. Every change of state is made here, together with the change of its job.

    waiting    -> running     a worker begins to score it
    running    -> waiting     the worker stopped, the system failed, or references changed meanwhile
    running    -> scored      at least one metric gave scores
    running    -> failed      no metric gave scores, or it was tried too often
    scored     -> waiting     references changed, or an organizer has it scored again; so from failed
    any but failed -> withdrawn, for good

A submission that waits or runs has one job of the kind `SCORING`; no other submission has one.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.dispatch import Signal
from django.utils import timezone

from capeval_server.core.errors import NotFoundError, SubmissionStateError
from capeval_server.jobs import leases
from capeval_server.jobs.models import Job
from capeval_server.submissions.models import Submission
from capeval_server.teams.models import Team

__all__ = [
    "SCORING",
    "add",
    "delete_baseline",
    "ended",
    "fail",
    "held_by",
    "locked",
    "put_back",
    "rerun",
    "rerun_all",
    "rescore",
    "settle",
    "start",
    "withdraw",
]

SCORING = "scoring"
# Sent with `submission`, in the transaction in which it is scored or fails.
ended = Signal()
_State = Submission.State


def locked(submission: Submission, *, stands: bool = False) -> Submission:
    """The submission as it is now, with its team's row locked: changes of a team come one after the other.

    If it is to be put on the leaderboard, the submission that it replaces is locked too. Several submissions
    are always locked in the order of their keys, which prevents deadlocks.

    Raises:
        NotFoundError: It is gone, as a human baseline whose file changed.
    """
    Team.objects.select_for_update(of=("self",), no_key=True).filter(submissions=submission).first()
    wanted = Q(pk=submission.pk)
    if stands:
        wanted |= Q(team=submission.team_id, phase=submission.phase_id, stands=True)
    rows = Submission.objects.select_for_update(no_key=True).filter(wanted).order_by("pk")
    now = next((row for row in rows if row.pk == submission.pk), None)
    if now is None:
        raise NotFoundError
    return now


def _job_of(submission: Submission) -> Job:
    # Nobody waits for a human baseline, so it comes after all submissions of teams.
    priority = 0 if submission.baseline_of_id is None else 1
    return Job(kind=SCORING, subject=str(submission.pk), priority=priority, created=submission.created)


def _set(submission: Submission, state: str, **values: Any) -> None:
    submission.state = state
    for name, value in values.items():
        setattr(submission, name, value)
    submission.save(update_fields=["state", *values])


def held_by(job: Job) -> Submission:
    """The submission that a job is about, locked; and the job after it.

    Raises:
        LostLeaseError: The submission is gone, or the worker no longer holds the job.
    """
    submission = Submission.objects.select_for_update(no_key=True).filter(pk=job.subject).first()
    leases.locked(job)
    if submission is None:
        raise leases.LostLeaseError
    return submission


def add(submission: Submission) -> None:
    """Adds a new submission, which waits to be scored from then on. Call it in a transaction."""
    submission.save(force_insert=True)
    leases.enqueue(_job_of(submission))


def start(job: Job) -> Submission:
    """Begins to score the submission that a job is about.

    Raises:
        LostLeaseError: The worker no longer holds the job.
    """
    with transaction.atomic():
        submission = held_by(job)
        _set(submission, _State.RUNNING)
    return submission


def put_back(job: Job, log: str) -> None:
    """Has a job's submission wait. The caller gives the job back.

    Args:
        job: The job.
        log: Why the attempt failed; empty if it did not.
    """
    submission = held_by(job)
    _set(submission, _State.WAITING, log=_logged(submission, job, log))


def _logged(submission: Submission, job: Job, log: str) -> str:
    return f"{submission.log}attempt {job.attempt}: {log}\n" if log else submission.log


def fail(job: Job, reason: str, log: str = "", *, costs: bool = False) -> None:
    """Ends a submission without scores. The caller ends its job.

    Args:
        job: The job.
        reason: What went wrong, for its team.
        log: What went wrong, in full.
        costs: Whether it still counts for the quota, because it failed by its own content.
    """
    submission = held_by(job)
    values = {"log": _logged(submission, job, log), "reason": reason, "finished": timezone.now()}
    if not costs:
        values["counts_for_quota"] = False
    _set(submission, _State.FAILED, **values)
    ended.send(Submission, submission=submission)


def settle(job: Job, submission: Submission, *, more: bool) -> None:
    """Ends an attempt whose results are written, in their transaction.

    Args:
        job: The job.
        submission: The submission, locked.
        more: Whether there is more to score, because references changed meanwhile.
    """
    if more:
        _set(submission, _State.WAITING)
        leases.restart(job)
        return
    if submission.results.filter(failure="").exists():
        _set(submission, _State.SCORED, finished=timezone.now())
        ended.send(Submission, submission=submission)
    else:
        # Otherwise, captions that no metric takes could be sent again and again.
        by_content = not submission.results.filter(by_content=False).exists()
        fail(job, "no metric gave a score", costs=by_content)
    leases.finish(job)


def rerun(submission: Submission) -> None:
    """Deletes the results by the current references, and has the submission scored again.

    Raises:
        NotFoundError: It is gone.
        StandingError: It is withdrawn.
    """
    with transaction.atomic():
        now = locked(submission)
        if now.state == _State.WITHDRAWN:
            raise SubmissionStateError("a withdrawn submission can't be scored again")
        _rerun(now)


def rerun_all(submissions: QuerySet[Submission]) -> int:
    """Has many submissions scored again as `rerun` does, without withdrawn ones; returns how many."""
    with transaction.atomic():
        # In the common order of locks. Teams are not locked: they would have to be locked first.
        rows = submissions.exclude(state=_State.WITHDRAWN).select_for_update(of=("self",), no_key=True)
        found = list(rows.order_by("pk"))
        for row in found:
            _rerun(row)
    return len(found)


def _rerun(submission: Submission) -> None:
    submission.results.filter(reference_version__in=submission.current_versions()).delete()
    _set(submission, _State.WAITING, reason="", finished=None)
    leases.enqueue(_job_of(submission))


def rescore(submissions: QuerySet[Submission]) -> None:
    """Has submissions scored by new references. Those that wait or run are scored by them anyway.

    Call it in a transaction.
    """
    ended = submissions.filter(Q(state=_State.SCORED) | Q(state=_State.FAILED, baseline_of__isnull=False))
    # In the common order of locks.
    rows = list(ended.select_for_update(of=("self",), no_key=True).order_by("pk"))
    found = Submission.objects.filter(pk__in=[row.pk for row in rows])
    found.filter(baseline_of__isnull=False).update(reason="", finished=None)
    found.update(state=_State.WAITING)
    leases.enqueue(*map(_job_of, rows))


def withdraw(submission: Submission) -> Submission:
    """Withdraws a submission for good: it leaves the leaderboard and is not scored any more.

    It still counts for the quota. A worker that is scoring it loses its job.

    Raises:
        NotFoundError: It is gone.
        StandingError: It failed.
    """
    with transaction.atomic():
        now = locked(submission)
        if now.state == _State.FAILED:
            raise SubmissionStateError("a failed submission can't be withdrawn")
        _set(now, _State.WITHDRAWN, stands=False)
        leases.cancel(SCORING, str(now.pk))
    return now


def delete_baseline(baseline: Submission) -> None:
    """Deletes a human baseline, locked by the caller. A worker that scores it loses its job."""
    key = str(baseline.pk)
    baseline.delete()
    leases.cancel(SCORING, key)
