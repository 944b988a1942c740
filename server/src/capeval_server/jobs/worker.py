"""Worker process: claims jobs and runs their handlers."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connection

from capeval_server.jobs import leases
from capeval_server.jobs.handlers import Handler, handlers, recurring
from capeval_server.jobs.leases import LostLeaseError
from capeval_server.jobs.models import Job, Worker

__all__ = ["Heartbeat", "StoppedError", "run", "work_once"]

_log = logging.getLogger(__name__)
_POLL_SECONDS = 0.5
# First and longest pause of a worker after a database failure, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
# Minimum interval between heartbeats, in seconds.
_BEAT_SECONDS = 5
# Jobs that recur more often are logged only at debug level.
_OFTEN = timedelta(minutes=1)
# A stopping worker waits this long for another host's response, in seconds.
_LAST_ANSWER = 30


class StoppedError(Exception):
    """Request to stop the worker."""


def _get_worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


class Heartbeat:
    """Database row of a worker, which shows others that the worker runs."""

    def __init__(self) -> None:
        self.name = _get_worker_name()
        self._next = 0.0
        self._stopped = False

    def stop(self, *_: object) -> None:
        """Stop the worker at its next beat. Safe to call from a signal handler."""
        self._stopped = True

    def beat(self) -> None:
        """Update the worker's row, unless this was done a few seconds ago.

        Raises:
            StoppedError: The worker was asked to stop.
        """
        self.check()
        if time.monotonic() >= self._next:
            Worker.objects.update_or_create(name=self.name, defaults={"seen": leases.database_time()})
            self._next = time.monotonic() + _BEAT_SECONDS

    def pause(self, seconds: float) -> None:
        """Wait.

        Raises:
            StoppedError: The worker was asked to stop; the wait ends early.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.check()
            time.sleep(min(left, _POLL_SECONDS))

    def check(self) -> None:
        """Check whether the worker was asked to stop.

        Raises:
            StoppedError: The worker was asked to stop.
        """
        if self._stopped:
            raise StoppedError

    def end(self) -> None:
        """Delete the row."""
        Worker.objects.filter(name=self.name).delete()


def run(heartbeat: Heartbeat | None = None, *, until_empty: bool = False) -> None:
    """Run jobs until the worker is stopped or, optionally, until no jobs remain.

    Args:
        heartbeat: Shows that the worker runs, and can stop it; by default a new one.
        until_empty: Whether to end when no job waits or runs, except recurring ones.
    """
    heartbeat = heartbeat or Heartbeat()
    try:
        with handlers() as opened:
            if until_empty:
                # A single thread, so that jobs created by other jobs also run.
                _work(opened, heartbeat, heartbeat.beat, until_empty=True)
            else:
                _work_in_two_threads(opened, heartbeat)
    except StoppedError:
        _log.info("stopped")
    finally:
        try:
            heartbeat.end()
        except (DatabaseError, InterfaceError):
            # Rows with old heartbeats are not shown.
            _log.warning("the worker's row was not deleted: the database did not answer")


def _work_in_two_threads(opened: Mapping[str, Handler], heartbeat: Heartbeat) -> None:
    """Run jobs that wait for other hosts in a second thread, to not delay other jobs."""
    waiting = {kind: handler for kind, handler in opened.items() if handler.waits_for_hosts}
    others = {kind: handler for kind, handler in opened.items() if not handler.waits_for_hosts}
    second = threading.Thread(target=_work_with_hosts, args=(waiting, heartbeat), daemon=True)
    second.start()
    try:
        _work(others, heartbeat, heartbeat.beat, until_empty=False)
    finally:
        heartbeat.stop()
        # A job that is not released by then runs again when its lease expires.
        second.join(_LAST_ANSWER)


def _work_with_hosts(opened: Mapping[str, Handler], heartbeat: Heartbeat) -> None:
    try:
        # Only the first thread writes heartbeats, so that it is noticed if that thread hangs.
        _work(opened, heartbeat, heartbeat.check, until_empty=False)
    except StoppedError:
        pass
    finally:
        # The worker must not continue without this thread, whatever ended it.
        heartbeat.stop()
        connection.close()


def _work(
    opened: Mapping[str, Handler], heartbeat: Heartbeat, beat: Callable[[], None], *, until_empty: bool
) -> None:
    planned = False
    pause = _FIRST_PAUSE
    while True:
        try:
            beat()
            if not planned:
                _add_recurring_jobs(opened)
                planned = True
            worked = work_once(opened, beat)
            if until_empty and not worked and not _has_unfinished_jobs(opened):
                return
        except (DatabaseError, InterfaceError):
            # The database is restarting or unreachable. The job is claimed again when its lease expires.
            _log.exception("the database failed; trying again in %g s", pause)
            connection.close()
            heartbeat.pause(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            continue
        if pause > _FIRST_PAUSE:
            _log.info("the database answers again: the worker continues")
            pause = _FIRST_PAUSE
        if not worked:
            close_old_connections()
            time.sleep(_POLL_SECONDS)


def _has_unfinished_jobs(opened: Mapping[str, Handler]) -> bool:
    """Return whether non-recurring jobs with a handler wait or run."""
    return Job.objects.filter(kind__in=set(opened) - set(recurring())).exists()


def _add_recurring_jobs(opened: Mapping[str, Handler]) -> None:
    for kind, handler in opened.items():
        if handler.every is not None:
            first = {"priority": handler.priority, "available_from": leases.database_time() + handler.every}
            Job.objects.get_or_create(kind=kind, subject="server", defaults=first)


def work_once(opened: Mapping[str, Handler] | None = None, beat: Callable[[], None] = lambda: None) -> bool:
    """Run one job, if one is available.

    Args:
        opened: The handlers by kind of job; by default new ones.
        beat: Called regularly while the job runs.

    Returns:
        Whether there was a job.
    """
    if opened is None:
        with handlers() as own:
            return work_once(own, beat)
    job = leases.claim(opened, _get_worker_name())
    if job is None:
        return False
    try:
        _run_job(job, opened[job.kind], beat)
    except LostLeaseError:
        _log.warning("%s: taken over by another worker, or canceled", job)
    return True


def _run_job(job: Job, handler: Handler, beat: Callable[[], None]) -> None:
    if job.attempt > settings.MAX_ATTEMPTS:
        leases.give_up(job, handler, f"{job.kind} stopped {job.attempt - 1} times before its end")
        return
    often = handler.every is not None and handler.every < _OFTEN
    level = logging.DEBUG if often else logging.INFO
    _log.log(level, "%s, attempt %d: %s", job, job.attempt, job.kind)
    try:
        handler.run(job, leases.renewal(job, beat))
        _log.log(level, "%s: done", job)
    except StoppedError:
        _release(job, handler)
        raise
    except (LostLeaseError, DatabaseError, InterfaceError):
        raise
    except Exception as error:
        # An error of one job must not end the worker.
        _log.exception("%s: the system failed", job)
        leases.postpone(job, handler, f"{type(error).__name__}: {error}")


def _release(job: Job, handler: Handler) -> None:
    try:
        leases.release(job, handler)
        _log.info("%s: released, because the worker is stopping", job)
    except (DatabaseError, InterfaceError, LostLeaseError):
        # Its lease will expire, unless another worker already holds it.
        _log.warning("%s: not released", job)
