"""The worker: takes a submission that waits, has it scored, writes the scores once."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from django.db.models.fields.files import FieldFile
from django.utils import timezone

from capeval_server.submissions.leases import (
    Job,
    LostLeaseError,
    claim,
    finish,
    give_back,
    jobs_of,
    release,
    renewal,
    unfinished,
)
from capeval_server.submissions.models import Worker
from capeval_server.submissions.scoring import Outcome, Scorer, Task
from capeval_server.submissions.tidying import SCRATCH, tidy

__all__ = ["Heartbeat", "StoppedError", "run", "work_once"]

_log = logging.getLogger(__name__)
_POLL_SECONDS = 0.5
# A heartbeat is written this often at most.
_BEAT_SECONDS = 5
_TIDY_SECONDS = 3600


class StoppedError(Exception):
    """The worker was asked to stop."""


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
            if until_empty and not worked and not unfinished().exists():
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
    renew = renewal(submission, beat)
    try:
        jobs = jobs_of(submission)
        found: dict[int, list[Outcome]] = {}
        # First with what is prepared, before anything else takes its place.
        for number in sorted(range(len(jobs)), key=lambda number: jobs[number].version.pk not in scorer):
            found[number] = _score(scorer, jobs[number], renew)
        outcomes = [(job.version, outcome) for number, job in enumerate(jobs) for outcome in found[number]]
        finish(submission, outcomes)
        _log.info("submission %s: done", submission.pk)
    except LostLeaseError:
        _log.warning("submission %s: taken over by another worker", submission.pk)
    except StoppedError:
        _log.info("submission %s: given back, since the worker is stopped", submission.pk)
        give_back(submission)
        raise
    except (DatabaseError, InterfaceError):
        raise
    except Exception as error:
        # Whatever it is, it must not end the worker, which has other submissions to score.
        _log.exception("submission %s: the system failed", submission.pk)
        release(submission, f"{type(error).__name__}: {error}")
    return True


def _score(scorer: Scorer, job: Job, renew: Callable[[], None]) -> list[Outcome]:
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
