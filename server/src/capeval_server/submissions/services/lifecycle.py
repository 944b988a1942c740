"""Life cycle of submissions. Only this module changes states, together with jobs.

    waiting    -> running     a worker begins to score it
    running    -> waiting     the worker stopped, the system failed, or references changed meanwhile
    running    -> scored      at least one metric gave scores
    running    -> failed      no metric gave scores, or there were too many attempts
    scored     -> waiting     references changed, or an organizer requested it; also from failed
    any but failed -> withdrawn, permanently

A submission that waits or runs has one job of the kind `SCORING`; other submissions have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.dispatch import Signal
from django.utils import timezone

from capeval_server.core.errors import NotFoundError, SubmissionStateError
from capeval_server.jobs import leases
from capeval_server.jobs.models import Job
from capeval_server.submissions.models import Submission
from capeval_server.submissions.services.standing import lock_siblings, update_standing
from capeval_server.teams.models import Team

__all__ = [
    "SCORING",
    "add",
    "delete_baseline",
    "ended",
    "fail",
    "lock_submission",
    "lock_submission_of_job",
    "put_back",
    "rerun",
    "rerun_all",
    "rescore",
    "settle",
    "start",
    "withdraw",
]

SCORING = "scoring"
# Sent with `submission`, in the transaction in which it becomes scored or failed.
ended = Signal()
_State = Submission.State


def lock_submission(submission: Submission) -> Submission:
    """Return the current row of a submission, locked together with its team's row.

    Raises:
        NotFoundError: The submission no longer exists, such as a replaced human baseline.
    """
    Team.objects.select_for_update(of=("self",), no_key=True).filter(submissions=submission).first()
    now = Submission.objects.select_for_update(no_key=True).filter(pk=submission.pk).first()
    if now is None:
        raise NotFoundError
    return now


def _build_job(submission: Submission) -> Job:
    # Human baselines come after all submissions of teams, because nobody waits for them.
    priority = 0 if submission.baseline_of_id is None else 1
    return Job(kind=SCORING, subject=str(submission.pk), priority=priority, created=submission.created)


def _set_state(submission: Submission, state: str, **values: Any) -> None:
    submission.state = state
    for name, value in values.items():
        setattr(submission, name, value)
    submission.save(update_fields=["state", *values])


def lock_submission_of_job(job: Job) -> Submission:
    """Return the submission of a job, and lock the submission and then the job.

    Raises:
        LostLeaseError: The submission no longer exists, or the worker no longer holds the job.
    """
    submission = Submission.objects.select_for_update(no_key=True).filter(pk=job.subject).first()
    leases.lock_job(job)
    if submission is None:
        raise leases.LostLeaseError
    return submission


def add(submission: Submission) -> None:
    """Add a new submission with its scoring job. Call this in a transaction."""
    submission.save(force_insert=True)
    leases.enqueue(_build_job(submission))


def start(job: Job) -> Submission:
    """Set the submission of a job to running.

    Raises:
        LostLeaseError: The worker no longer holds the job.
    """
    with transaction.atomic():
        submission = lock_submission_of_job(job)
        _set_state(submission, _State.RUNNING)
    return submission


def put_back(job: Job, log: str) -> None:
    """Set the submission of a job to waiting. The caller releases the job.

    Args:
        job: The job.
        log: The reason why the attempt failed; empty if it did not fail.
    """
    submission = lock_submission_of_job(job)
    _set_state(submission, _State.WAITING, log=_append_log(submission, job, log))


def _append_log(submission: Submission, job: Job, log: str) -> str:
    return f"{submission.log}attempt {job.attempt}: {log}\n" if log else submission.log


def fail(job: Job, reason: str, log: str = "", *, costs: bool = False) -> None:
    """Set the submission of a job to failed. The caller ends the job.

    Args:
        job: The job.
        reason: The reason for the team.
        log: The full reason.
        costs: Whether the submission still counts for the quota, because its content caused the failure.
    """
    submission = lock_submission_of_job(job)
    values = {"log": _append_log(submission, job, log), "reason": reason, "finished": timezone.now()}
    if not costs:
        values["counts_for_quota"] = False
    _set_state(submission, _State.FAILED, **values)
    ended.send(Submission, submission=submission)


def settle(job: Job, submission: Submission, siblings: Sequence[Submission], *, more: bool) -> None:
    """End an attempt, in the transaction that writes its results.

    Args:
        job: The job.
        submission: The submission, locked.
        siblings: All submissions of its team to its phase, locked.
        more: Whether more remains to be scored, because references changed in the meantime.
    """
    if more:
        _set_state(submission, _State.WAITING)
        leases.restart(job)
        return
    if submission.results.filter(failure="").exists():
        _set_state(submission, _State.SCORED, finished=timezone.now())
        if submission.phase is not None:
            update_standing(submission.phase, [submission, *(row for row in siblings if row != submission)])
        ended.send(Submission, submission=submission)
    else:
        # Otherwise, captions that every metric rejects could be submitted without limit.
        by_content = not submission.results.filter(by_content=False).exists()
        fail(job, "no metric gave a score", costs=by_content)
    leases.finish(job)


def rerun(submission: Submission) -> None:
    """Delete the results by the current references, and score the submission again.

    Raises:
        NotFoundError: The submission no longer exists.
        SubmissionStateError: The submission is withdrawn.
    """
    with transaction.atomic():
        now = lock_submission(submission)
        if now.state == _State.WITHDRAWN:
            raise SubmissionStateError("a withdrawn submission can't be scored again")
        _rerun(now)


def rerun_all(submissions: QuerySet[Submission]) -> int:
    """Rerun many submissions, except withdrawn ones, and return their number."""
    with transaction.atomic():
        # Locked in the common order. Teams are not locked, because they would have to be locked first.
        rows = submissions.exclude(state=_State.WITHDRAWN).select_for_update(of=("self",), no_key=True)
        found = list(rows.order_by("pk"))
        for row in found:
            _rerun(row)
    return len(found)


def _rerun(submission: Submission) -> None:
    submission.results.filter(reference_version__in=submission.current_versions()).delete()
    _set_state(submission, _State.WAITING, reason="", finished=None)
    leases.enqueue(_build_job(submission))


def rescore(submissions: QuerySet[Submission]) -> None:
    """Score submissions by new references.

    Submissions that wait or run will use the new references anyway. Call this in a transaction.
    """
    ended = submissions.filter(Q(state=_State.SCORED) | Q(state=_State.FAILED, baseline_of__isnull=False))
    # Locked in the common order.
    rows = list(ended.select_for_update(of=("self",), no_key=True).order_by("pk"))
    found = Submission.objects.filter(pk__in=[row.pk for row in rows])
    found.filter(baseline_of__isnull=False).update(reason="", finished=None)
    found.update(state=_State.WAITING)
    leases.enqueue(*map(_build_job, rows))


def withdraw(submission: Submission) -> Submission:
    """Withdraw a submission permanently.

    It leaves the leaderboard and is no longer scored, but still counts for the quota. A worker that scores it
    loses its job.

    Raises:
        NotFoundError: The submission no longer exists.
        SubmissionStateError: The submission failed.
    """
    with transaction.atomic():
        siblings = lock_siblings(submission.pk)
        now = next((row for row in siblings if row.pk == submission.pk), None) or lock_submission(submission)
        if now.state == _State.FAILED:
            raise SubmissionStateError("a failed submission can't be withdrawn")
        _set_state(now, _State.WITHDRAWN, stands=False, choice=Submission.Choice.NONE)
        if now.phase is not None:
            update_standing(now.phase, siblings)
        leases.cancel(SCORING, str(now.pk))
    return now


def delete_baseline(baseline: Submission) -> None:
    """Delete a human baseline that the caller has locked.

    A worker that scores it loses its job.
    """
    key = str(baseline.pk)
    baseline.delete()
    leases.cancel(SCORING, key)
