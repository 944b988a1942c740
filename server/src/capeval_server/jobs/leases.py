"""Leases of jobs: no job is lost, and no result is written twice.

Leases are rows of the database and use its clock, because the clocks of the workers' machines may differ. If
a worker is killed, its lease expires and another worker takes the job. A worker that returns late no longer
holds the lease and writes nothing.

A job's row is locked after the rows that the job changes. Therefore a handler's `wait` and `give_up` run
first, and are rolled back if the lease turns out to be lost.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, Func, Q, QuerySet, Value
from django.db.models.sql.compiler import SQLCompiler
from django.utils import timezone

from capeval_server.jobs.handlers import Handler
from capeval_server.jobs.models import Job

__all__ = [
    "DatabaseTime",
    "LostLeaseError",
    "cancel",
    "claim",
    "database_time",
    "enqueue",
    "finish",
    "give_up",
    "lock_job",
    "postpone",
    "release",
    "renewal",
    "restart",
    "update_progress",
]
# Fields of a job that no worker holds.
_IDLE: dict[str, Any] = {"lease": None, "owner": "", "begun": None, "progress": {}}


class LostLeaseError(Exception):
    """Lost lease: another worker has the job, or it was deleted."""


def database_time() -> datetime:
    """Return the time of the database's clock, which all workers share.

    SQLite has no clock of its own; the result is the time of this process.
    """
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime
        ((now,),) = cursor.fetchall()
    return now


class DatabaseTime(Func):
    """Query expression of the time that `database_time` returns."""

    function = "clock_timestamp"
    output_field = DateTimeField()

    def as_sqlite(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002
        **context: Any,  # noqa: ARG002
    ) -> tuple[str, tuple[Any, ...]]:
        """Compile to the time of this process."""
        sql, parameters = compiler.compile(Value(timezone.now(), output_field=DateTimeField()))
        return sql, tuple(parameters)


def enqueue(*jobs: Job) -> None:
    """Add jobs. An existing job starts from the beginning, and its worker loses it."""
    Job.objects.bulk_create(
        jobs,
        update_conflicts=True,
        unique_fields=["kind", "subject"],
        update_fields=["attempt", "lease", "owner", "available_from", "begun", "progress"],
    )


def cancel(kind: str, subject: str) -> None:
    """Delete a job, if it exists; its worker loses the lease."""
    Job.objects.filter(kind=kind, subject=subject).delete()


def _filter_available(kinds: Iterable[str]) -> QuerySet[Job]:
    now = database_time()
    free = Job.objects.filter(Q(available_from=None) | Q(available_from__lte=now), kind__in=list(kinds))
    return free.order_by("priority", "created", "pk")


def claim(kinds: Iterable[str], owner: str) -> Job | None:
    """Claim the first available job, or return None.

    A job is available if it waits or if the lease of its worker expired.

    Args:
        kinds: The kinds of jobs to claim.
        owner: The name of the worker.
    """
    if not _filter_available(kinds).exists():
        return None
    with transaction.atomic():
        job = _filter_available(kinds).select_for_update(skip_locked=True).first()
        if job is None:
            return None
        job.attempt += 1
        job.lease, job.owner = uuid.uuid4(), owner
        job.begun, job.progress = database_time(), {}
        job.available_from = job.begun + timedelta(seconds=settings.LEASE_SECONDS)
        job.save(update_fields=["attempt", "lease", "owner", "available_from", "begun", "progress"])
    return job


def _filter_held(job: Job) -> QuerySet[Job]:
    return Job.objects.filter(pk=job.pk, lease=job.lease)


def _update_held(job: Job, **values: Any) -> None:
    if not _filter_held(job).update(**values):
        raise LostLeaseError


def renewal(job: Job, beat: Callable[[], None]) -> Callable[[], None]:
    """Return a function that renews the lease of a job when enough time has passed.

    The function raises the exceptions of `beat`, and `LostLeaseError` if the lease is lost.
    """
    interval = settings.LEASE_SECONDS / 8
    renewed = time.monotonic()

    def renew() -> None:
        nonlocal renewed
        beat()
        if time.monotonic() < renewed + interval:
            return
        _update_held(job, available_from=database_time() + timedelta(seconds=settings.LEASE_SECONDS))
        renewed = time.monotonic()

    return renew


def update_progress(job: Job, **progress: Any) -> None:
    """Store the progress of a job.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    _update_held(job, progress=progress)


def lock_job(job: Job) -> None:
    """Lock a job until the end of the transaction, so that its worker keeps the lease.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    if _filter_held(job).select_for_update().first() is None:
        raise LostLeaseError


def finish(job: Job, *, again_after: timedelta | None = None) -> None:
    """Delete a finished job, or schedule the next run of a recurring one.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    if again_after is not None:
        restart(job, after=again_after)
    elif not _filter_held(job).delete()[0]:
        raise LostLeaseError


def restart(job: Job, *, after: timedelta = timedelta()) -> None:
    """Release a job to run from the beginning, on any worker.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    available_from = database_time() + after if after else None
    _update_held(job, attempt=0, available_from=available_from, **_IDLE)


def postpone(job: Job, handler: Handler, log: str) -> None:
    """Schedule the next attempt of a failed job, or give up after the last attempt.

    The pause grows with each attempt.

    Args:
        job: The job.
        handler: Its handler.
        log: The reason why it failed.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    if job.attempt >= settings.MAX_ATTEMPTS:
        give_up(job, handler, f"the system failed {job.attempt} times", log)
        return
    with transaction.atomic():
        handler.wait(job, log)
        pause = timedelta(seconds=settings.RETRY_SECONDS * job.attempt)
        _update_held(job, available_from=database_time() + pause, **_IDLE)


def give_up(job: Job, handler: Handler, reason: str, log: str = "") -> None:
    """End a job after its last attempt.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    with transaction.atomic():
        handler.give_up(job, reason, log)
        finish(job, again_after=handler.every)


def release(job: Job, handler: Handler) -> None:
    """Release a job as if it had not been claimed.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    with transaction.atomic():
        handler.wait(job, "")
        _update_held(job, attempt=job.attempt - 1, available_from=None, **_IDLE)
