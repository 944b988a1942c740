"""The worker: takes a submission that waits, has it scored, writes the scores once.

What guards against lost and double work is in the tables. A worker may be killed at any point: its lease
runs out, and another takes over. One that comes back late no longer holds the lease, and writes nothing.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.fields.files import FieldFile
from django.utils import timezone

from capeval_server.challenges.locking import lock_references
from capeval_server.challenges.models import ReferenceSet, ReferenceVersion
from capeval_server.submissions.models import (
    ImageScores,
    Result,
    Score,
    Submission,
    SubmissionFile,
    Worker,
)
from capeval_server.submissions.scoring import Outcome, Scorer, ScoringError, Task
from capeval_server.submissions.stored import packed_image_scores
from capeval_server.submissions.tidying import SCRATCH, tidy

__all__ = ["Heartbeat", "LostLeaseError", "StoppedError", "claim", "finish", "rerun", "run", "work_once"]

_log = logging.getLogger(__name__)
_POLL_SECONDS = 0.5
_PAUSE_SECONDS = 5
# A heartbeat is written this often at most.
_BEAT_SECONDS = 5
_TIDY_SECONDS = 3600


class LostLeaseError(Exception):
    """The submission is somebody else's by now."""


class StoppedError(Exception):
    """The worker was asked to stop."""


@dataclass(frozen=True, kw_only=True)
class _Job:
    """Metrics to score one file with, against one version of references."""

    file: SubmissionFile
    version: ReferenceVersion
    metrics: list[str]


class Heartbeat:
    """A worker's row, which says that it was there."""

    def __init__(self) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self._next = 0.0
        self._stopped = False

    def stop(self, *_: object) -> None:
        """Has the worker stop at its next beat; it may be called by a signal, between any two steps."""
        self._stopped = True

    def beat(self) -> None:
        """Says that the worker is there, if that was last said some seconds ago.

        Raises:
            StoppedError: The worker was asked to stop.
        """
        if self._stopped:
            raise StoppedError
        if time.monotonic() >= self._next:
            Worker.objects.update_or_create(name=self.name, defaults={"seen": timezone.now()})
            self._next = time.monotonic() + _BEAT_SECONDS

    def end(self) -> None:
        """Takes the row away."""
        Worker.objects.filter(name=self.name).delete()


def run(heartbeat: Heartbeat | None = None, *, until_empty: bool = False) -> None:
    """Scores what waits, until it is stopped or nothing does.

    Args:
        heartbeat: What says that the worker is there, and stops it; one of its own by default.
        until_empty: Whether to end when no submission waits or is being scored.
    """
    heartbeat = heartbeat or Heartbeat()
    try:
        with Scorer() as scorer:
            _work(scorer, heartbeat, until_empty=until_empty)
    except StoppedError:
        _log.info("stopped")
    finally:
        try:
            heartbeat.end()
        except (DatabaseError, InterfaceError):
            # It ages.
            _log.warning("the database did not answer")


def _work(scorer: Scorer, heartbeat: Heartbeat, *, until_empty: bool) -> None:
    tidied = time.monotonic()
    while True:
        try:
            heartbeat.beat()
            worked = work_once(scorer, heartbeat.beat)
            if until_empty and not worked and not _unfinished().exists():
                return
            if not worked and time.monotonic() > tidied + _TIDY_SECONDS:
                tidied = time.monotonic()
                tidy()
        except (DatabaseError, InterfaceError):
            # The database restarts, or is out of reach: what was at work is taken over when its lease ends.
            _log.exception("the database did not answer")
            connection.close()
            worked = False
        except OSError:
            # Only tidying leads here, which can wait.
            _log.exception("files could not be tidied")
            worked = False
        if not worked:
            close_old_connections()
            time.sleep(_POLL_SECONDS)


def work_once(scorer: Scorer | None = None, beat: Callable[[], None] = lambda: None) -> bool:
    """Scores one submission, if one waits.

    Args:
        scorer: What scores, and keeps what it prepared; one of its own by default.
        beat: Called every now and then while scoring goes on.

    Returns:
        Whether one did.
    """
    if scorer is None:
        with Scorer() as own:
            return work_once(own, beat)
    submission = claim()
    if submission is None:
        return False
    _log.info("submission %s, attempt %d: scoring", submission.pk, submission.attempt)
    renew = _renewal(submission, beat)
    try:
        jobs = _jobs(submission)
        found: dict[int, list[Outcome]] = {}
        # First with what is prepared, before anything else takes its place.
        for number in sorted(range(len(jobs)), key=lambda number: jobs[number].version.pk not in scorer):
            found[number] = _score(scorer, jobs[number], renew)
        outcomes = [(job.version, outcome) for number, job in enumerate(jobs) for outcome in found[number]]
        finish(submission, outcomes)
        _log.info("submission %s: done", submission.pk)
    except LostLeaseError:
        _log.warning("submission %s: taken over by another worker", submission.pk)
    except (ScoringError, OSError) as error:
        _log.exception("submission %s: the system failed", submission.pk)
        _release(submission, str(error))
    except StoppedError:
        _log.info("submission %s: given back, since the worker is stopped", submission.pk)
        _give_back(submission)
        raise
    return True


def _unfinished() -> QuerySet[Submission]:
    return Submission.objects.filter(state__in=[Submission.State.WAITING, Submission.State.RUNNING])


def _available() -> QuerySet[Submission]:
    now = timezone.now()
    available = _unfinished().filter(Q(lease_until=None) | Q(lease_until__lte=now))
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


def _jobs(submission: Submission) -> list[_Job]:
    """What is not scored yet, against the versions of references that count now."""
    done = set(submission.results.values_list("reference_version_id", "metric"))
    jobs = []
    for file in submission.files.select_related("split").order_by("pk"):
        for version in _current_versions(file.split_id):
            if submission.baseline_of_id not in (None, version.reference_set_id):
                continue
            metrics = [metric for metric in file.split.metrics if (version.pk, metric) not in done]
            if metrics:
                jobs.append(_Job(file=file, version=version, metrics=metrics))
    return jobs


def _current_versions(split_id: int) -> list[ReferenceVersion]:
    versions = ReferenceVersion.objects.filter(reference_set__split_id=split_id)
    versions = versions.select_related("reference_set").order_by("reference_set_id")
    return [version for version in versions if version.number == version.reference_set.version]


def _score(scorer: Scorer, job: _Job, renew: Callable[[], None]) -> list[Outcome]:
    split = job.file.split
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as name:
        folder = Path(name)

        def references(place: Path) -> Path:
            # What a file of references is shows in its ending too.
            return _copy(
                job.version.file, place / f"references{''.join(Path(str(job.version.file)).suffixes)}"
            )

        task = Task(
            key=job.version.pk,
            references=references,
            candidates=_copy(job.file.file, folder / "candidates.json"),
            folder=folder,
            metrics=job.metrics,
            subsets=dict(split.subsets.values_list("name", "image_ids")),
            images=split.image_ids if job.version.reference_set.public else None,
        )
        return scorer.score(task, renew)


def _copy(stored: FieldFile, path: Path) -> Path:
    """A copy of a file, from wherever files are kept, which need not be a disk of this machine."""
    with stored.open("rb") as source, path.open("wb") as target:
        shutil.copyfileobj(source, target)
    return path


def _renewal(submission: Submission, beat: Callable[[], None]) -> Callable[[], None]:
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
        if _jobs(held):
            # References changed meanwhile: there is more to score.
            held.state, held.attempt = Submission.State.WAITING, 0
        elif not held.results.filter(failure="").exists():
            _fail(held, "no metric gave a score")
            return
        else:
            held.state, held.finished = Submission.State.SCORED, timezone.now()
        held.lease = held.lease_until = None
        held.save()


def _release(submission: Submission, log: str) -> None:
    """Gives a submission back, to be tried again after a pause; or ends it, when it was tried enough."""
    try:
        with transaction.atomic():
            held = _locked(submission)
            held.log = f"{held.log}attempt {held.attempt}: {log}\n"
            if held.attempt >= settings.MAX_ATTEMPTS:
                _fail(held, f"the system failed {held.attempt} times")
                return
            held.state, held.lease = Submission.State.WAITING, None
            held.lease_until = timezone.now() + timedelta(seconds=_PAUSE_SECONDS * held.attempt)
            held.save()
    except LostLeaseError:
        _log.warning("submission %s: taken over by another worker", submission.pk)


def _give_back(submission: Submission) -> None:
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
    """Has a submission scored again against the references that count now, as if it never was."""
    with transaction.atomic():
        held = Submission.objects.select_for_update(no_key=True).get(pk=submission.pk)
        for file in held.files.all():
            held.results.filter(reference_version__in=_current_versions(file.split_id)).delete()
        held.state, held.attempt, held.reason = Submission.State.WAITING, 0, ""
        held.lease = held.lease_until = held.finished = None
        held.save()
