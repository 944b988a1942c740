"""Leases of jobs, by which no job is lost and none is done twice.

Leases are rows of the database, and go by its clock, as those of the workers' machines may differ. A worker
may be killed at any point: its lease runs out, and another takes the job. A worker that comes back late no
longer holds the lease, and writes nothing.

A job's row is locked after the rows that the job changes. So `wait` and `give_up` of a handler come first,
and are undone if the lease turns out to be lost.
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
    "give_back",
    "give_up",
    "locked",
    "postpone",
    "renewal",
    "restart",
    "tell",
]
# What is stored of a job that no worker has.
_IDLE: dict[str, Any] = {"lease": None, "owner": "", "begun": None, "progress": {}}


class LostLeaseError(Exception):
    """The worker no longer holds the job: another one has it, or it was cancelled."""


def database_time() -> datetime:
    """The time by the database's clock, which all workers share. SQLite has no clock of its own."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime
        ((now,),) = cursor.fetchall()
    return now


class DatabaseTime(Func):
    """Expression of the time that `database_time` returns, to read it with a row."""

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
    """Adds jobs. One that is there already starts from the beginning, and its worker loses it."""
    Job.objects.bulk_create(
        jobs,
        update_conflicts=True,
        unique_fields=["kind", "subject"],
        update_fields=["attempt", "lease", "owner", "available_from", "begun", "progress"],
    )


def cancel(kind: str, subject: str) -> None:
    """Deletes a job, if there is one; its worker loses it."""
    Job.objects.filter(kind=kind, subject=subject).delete()


def _available(kinds: Iterable[str]) -> QuerySet[Job]:
    now = database_time()
    free = Job.objects.filter(Q(available_from=None) | Q(available_from__lte=now), kind__in=list(kinds))
    return free.order_by("priority", "created", "pk")


def claim(kinds: Iterable[str], owner: str) -> Job | None:
    """Takes the first job that waits, or whose worker is gone; none if there is none.

    Args:
        kinds: The kinds of jobs to take.
        owner: The name of the worker that takes it.
    """
    if not _available(kinds).exists():
        return None
    with transaction.atomic():
        job = _available(kinds).select_for_update(skip_locked=True).first()
        if job is None:
            return None
        job.attempt += 1
        job.lease, job.owner = uuid.uuid4(), owner
        job.begun, job.progress = database_time(), {}
        job.available_from = job.begun + timedelta(seconds=settings.LEASE_SECONDS)
        job.save(update_fields=["attempt", "lease", "owner", "available_from", "begun", "progress"])
    return job


def _held(job: Job) -> QuerySet[Job]:
    return Job.objects.filter(pk=job.pk, lease=job.lease)


def _change(job: Job, **values: Any) -> None:
    if not _held(job).update(**values):
        raise LostLeaseError


def renewal(job: Job, beat: Callable[[], None]) -> Callable[[], None]:
    """A function that renews the lease of a job when enough time has passed.

    It raises what `beat` raises, and `LostLeaseError` if the lease is lost.
    """
    interval = settings.LEASE_SECONDS / 8
    renewed = time.monotonic()

    def renew() -> None:
        nonlocal renewed
        beat()
        if time.monotonic() < renewed + interval:
            return
        _change(job, available_from=database_time() + timedelta(seconds=settings.LEASE_SECONDS))
        renewed = time.monotonic()

    return renew


def tell(job: Job, **progress: Any) -> None:
    """Writes how far a job is, for those who wait for it.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    _change(job, progress=progress)


def locked(job: Job) -> None:
    """Locks a job until the end of the transaction, so that its worker can't lose it meanwhile.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    if _held(job).select_for_update().first() is None:
        raise LostLeaseError


def finish(job: Job, *, again_after: timedelta | None = None) -> None:
    """Ends a job, or has it wait for its next time if it recurs.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    if again_after is not None:
        restart(job, after=again_after)
    elif not _held(job).delete()[0]:
        raise LostLeaseError


def restart(job: Job, *, after: timedelta = timedelta()) -> None:
    """Has a job done from the beginning, by whichever worker takes it next.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    available_from = database_time() + after if after else None
    _change(job, attempt=0, available_from=available_from, **_IDLE)


def postpone(job: Job, handler: Handler, log: str) -> None:
    """Has a job that failed tried again after a pause, longer after each attempt; or gives it up.

    Args:
        job: The job.
        handler: Its handler.
        log: Why it failed.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    if job.attempt >= settings.MAX_ATTEMPTS:
        give_up(job, handler, f"the system failed {job.attempt} times", log)
        return
    with transaction.atomic():
        handler.wait(job, log)
        pause = timedelta(seconds=settings.RETRY_SECONDS * job.attempt)
        _change(job, available_from=database_time() + pause, **_IDLE)


def give_up(job: Job, handler: Handler, reason: str, log: str = "") -> None:
    """Ends a job that was tried often enough.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    with transaction.atomic():
        handler.give_up(job, reason, log)
        finish(job, again_after=handler.every)


def give_back(job: Job, handler: Handler) -> None:
    """Gives a job back, as if it had not been claimed.

    Raises:
        LostLeaseError: The worker no longer holds it.
    """
    with transaction.atomic():
        handler.wait(job, "")
        _change(job, attempt=job.attempt - 1, available_from=None, **_IDLE)
