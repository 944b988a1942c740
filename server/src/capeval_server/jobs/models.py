"""Job queue and workers. Only these tables record jobs and their leases."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

__all__ = ["Job", "Worker"]


class Job(models.Model):
    """Job in the queue. Finished jobs are deleted.

    A worker holds a job by a lease, which it renews. After the lease expires, another worker may claim the
    job. Only the holder of the lease can finish the job.
    """

    # The kind of its handler.
    kind = models.CharField(max_length=50)
    # The object of the job, defined by the handler: for scoring, the id of a submission.
    subject = models.CharField(max_length=100)
    # Jobs with a lower number come first, then the oldest.
    priority = models.PositiveSmallIntegerField(default=0)
    created = models.DateTimeField(default=timezone.now)
    # When a worker may claim it: immediately (None), after a pause, or when the current lease expires.
    available_from = models.DateTimeField(null=True)
    # Number of attempts so far.
    attempt = models.PositiveIntegerField(default=0)
    lease = models.UUIDField(null=True)
    # The name of the worker that holds the lease.
    owner = models.CharField(max_length=200, blank=True)
    # When its worker started it, and its progress, in a form defined by the handler.
    begun = models.DateTimeField(null=True)
    progress = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "subject"], name="job_once")]
        indexes = [models.Index(fields=["priority", "created"], name="job_queue")]

    def __str__(self) -> str:
        return self.subject


class Worker(models.Model):
    """Job worker, with the time of its last heartbeat."""

    name = models.CharField(max_length=200, unique=True)
    started = models.DateTimeField(default=timezone.now)
    seen = models.DateTimeField(default=timezone.now)
