"""Who holds a submission while it is scored, and how that ends: what guards against lost and double work.

It is all in the tables. A worker may be killed at any point: its lease runs out, and another takes over. One
that comes back late no longer holds the lease, and writes nothing.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from capeval_server.challenges.locking import lock_references
from capeval_server.challenges.models import ReferenceSet, ReferenceVersion
from capeval_server.errors import StandingError
from capeval_server.submissions.models import (
    UNFINISHED,
    ImageScores,
    Result,
    Score,
    Submission,
    SubmissionFile,
)
from capeval_server.submissions.scoring import Outcome
from capeval_server.submissions.stored import packed_image_scores

__all__ = [
    "Job",
    "LostLeaseError",
    "claim",
    "finish",
    "give_back",
    "jobs_of",
    "release",
    "renewal",
    "rerun",
    "unfinished",
]

_log = logging.getLogger(__name__)


class LostLeaseError(Exception):
    """The submission is somebody else's by now."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """Metrics to score one file with, against one version of references."""

    file: SubmissionFile
    version: ReferenceVersion
    metrics: list[str]


def unfinished() -> QuerySet[Submission]:
    """What waits or is being scored."""
    return Submission.objects.filter(state__in=UNFINISHED)


def _available() -> QuerySet[Submission]:
    now = timezone.now()
    available = unfinished().filter(Q(lease_until=None) | Q(lease_until__lte=now))
    # For a human baseline, nobody waits.
    return available.order_by(F("baseline_of").asc(nulls_first=True), "created")


def claim() -> Submission | None:
    """Takes the first submission that waits, or whose worker is gone; none if there is none."""
    if not _available().exists():
        return None
    with transaction.atomic():
        submission = _available().select_for_update(skip_locked=True, no_key=True).first()
        if submission is None:
            return None
        if submission.attempt >= settings.MAX_ATTEMPTS:
            _fail(submission, f"scoring stopped {submission.attempt} times before its end")
            return None
        submission.attempt += 1
        submission.state = Submission.State.RUNNING
        submission.lease = uuid.uuid4()
        submission.lease_until = timezone.now() + timedelta(seconds=settings.LEASE_SECONDS)
        submission.save(update_fields=["attempt", "state", "lease", "lease_until"])
    return submission


def _fail(submission: Submission, reason: str) -> None:
    """Ends a submission without scores, which costs its user nothing."""
    submission.state = Submission.State.FAILED
    submission.reason = reason
    submission.counts_for_quota = False
    submission.finished = timezone.now()
    submission.lease = submission.lease_until = None
    submission.save()


def jobs_of(submission: Submission) -> list[Job]:
    """What is not scored yet, against the versions of references that count now."""
    done = set(submission.results.values_list("reference_version_id", "metric"))
    jobs = []
    for file in submission.files.select_related("split").order_by("pk"):
        for version in _current_versions(file.split_id):
            if submission.baseline_of_id not in (None, version.reference_set_id):
                continue
            metrics = [metric for metric in file.split.metrics if (version.pk, metric) not in done]
            if metrics:
                jobs.append(Job(file=file, version=version, metrics=metrics))
    return jobs


def _current_versions(split_id: int) -> list[ReferenceVersion]:
    versions = ReferenceVersion.objects.filter(reference_set__split_id=split_id)
    versions = versions.select_related("reference_set").order_by("reference_set_id")
    return [version for version in versions if version.number == version.reference_set.version]


def renewal(submission: Submission, beat: Callable[[], None]) -> Callable[[], None]:
    """What is to be called every now and then by who holds a submission, to hold it longer.

    It raises what `beat` does, and `LostLeaseError` if the submission is somebody else's by now.
    """
    often = settings.LEASE_SECONDS / 8
    renewed = time.monotonic()

    def renew() -> None:
        nonlocal renewed
        beat()
        if time.monotonic() < renewed + often:
            return
        until = timezone.now() + timedelta(seconds=settings.LEASE_SECONDS)
        held = Submission.objects.filter(
            pk=submission.pk, lease=submission.lease, state=Submission.State.RUNNING
        )
        if not held.update(lease_until=until):
            raise LostLeaseError
        renewed = time.monotonic()

    return renew


def _locked(submission: Submission) -> Submission:
    """The submission as it is now, which nobody else can change in this transaction.

    Raises:
        LostLeaseError: It is somebody else's by now.
    """
    now = Submission.objects.select_for_update(no_key=True).filter(pk=submission.pk).first()
    if now is None or now.state != Submission.State.RUNNING or now.lease != submission.lease:
        raise LostLeaseError
    return now


def finish(submission: Submission, outcomes: list[tuple[ReferenceVersion, Outcome]]) -> None:
    """Writes the outcomes of a submission, all of them or none.

    Raises:
        LostLeaseError: The submission is somebody else's by now.
    """
    with transaction.atomic():
        # First, as an import does: new references, or references that are public no more, come before
        # this or after it, and either sees what the other did.
        sets = ReferenceSet.objects.filter(split__submissionfile__submission=submission)
        public = {found.pk for found in lock_references(sets) if found.public}
        held = _locked(submission)
        for version, outcome in outcomes:
            result = Result.objects.create(
                submission=held,
                reference_version=version,
                metric=outcome.metric,
                signature=outcome.signature,
                failure=outcome.failure,
                log=outcome.log,
            )
            Score.objects.bulk_create(Score(result=result, **number) for number in outcome.scores)
            if outcome.images is not None and version.reference_set_id in public:
                values = packed_image_scores(outcome.images)
                ImageScores.objects.create(result=result, names=list(outcome.names), values=values)
        if jobs_of(held):
            # References changed meanwhile: there is more to score.
            held.state, held.attempt = Submission.State.WAITING, 0
        elif not held.results.filter(failure="").exists():
            _fail(held, "no metric gave a score")
            return
        else:
            held.state, held.finished = Submission.State.SCORED, timezone.now()
        held.lease = held.lease_until = None
        held.save()


def release(submission: Submission, log: str) -> None:
    """Gives a submission back, to be tried again after a pause; or ends it, when it was tried enough."""
    try:
        with transaction.atomic():
            held = _locked(submission)
            held.log = f"{held.log}attempt {held.attempt}: {log}\n"
            if held.attempt >= settings.MAX_ATTEMPTS:
                _fail(held, f"the system failed {held.attempt} times")
                return
            held.state, held.lease = Submission.State.WAITING, None
            held.lease_until = timezone.now() + timedelta(seconds=settings.RETRY_SECONDS * held.attempt)
            held.save()
    except LostLeaseError:
        _log.warning("submission %s: taken over by another worker", submission.pk)


def give_back(submission: Submission) -> None:
    """Lets a submission wait as if it had not been taken."""
    try:
        with transaction.atomic():
            held = _locked(submission)
            held.state, held.attempt = Submission.State.WAITING, held.attempt - 1
            held.lease = held.lease_until = None
            held.save()
    except (DatabaseError, InterfaceError, LostLeaseError):
        # Then its lease ends by itself, if it is not another's by now.
        _log.warning("submission %s: not given back", submission.pk)


def rerun(submission: Submission) -> None:
    """Has a submission scored again against the references that count now, as if it never was.

    Raises:
        StandingError: It is withdrawn.
    """
    with transaction.atomic():
        held = Submission.objects.select_for_update(no_key=True).get(pk=submission.pk)
        if held.state == Submission.State.WITHDRAWN:
            raise StandingError("a submission that is withdrawn can't be scored again")
        for file in held.files.all():
            held.results.filter(reference_version__in=_current_versions(file.split_id)).delete()
        held.state, held.attempt, held.reason = Submission.State.WAITING, 0, ""
        held.lease = held.lease_until = held.finished = None
        held.save()
