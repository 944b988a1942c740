"""Jobs and workers. Only these tables say which jobs there are and which worker has one."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

__all__ = ["Job", "Worker"]


class Job(models.Model):
    """One thing to do. A job that is done is deleted.

    A worker takes a job by a lease, which it renews. When the lease runs out, another worker may take the
    job. Only the holder of the lease can finish the job.
    """

    # The name of the handler that does it.
    kind = models.CharField(max_length=50)
    # What it is done to, in the handler's own terms: for scoring, the id of a submission.
    subject = models.CharField(max_length=100)
    # Jobs with a lower number come first; of the same number, the oldest.
    priority = models.PositiveSmallIntegerField(default=0)
    created = models.DateTimeField(default=timezone.now)
    # When a worker may take it: at once (none), after a pause, or when the lease of its worker runs out.
    available_from = models.DateTimeField(null=True)
    # How often it was begun.
    attempt = models.PositiveIntegerField(default=0)
    lease = models.UUIDField(null=True)
    # The name of the worker that holds the lease.
    owner = models.CharField(max_length=200, blank=True)
    # When its worker began it, and how far it is, in the handler's own terms.
    begun = models.DateTimeField(null=True)
    progress = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "subject"], name="job_once")]
        indexes = [models.Index(fields=["priority", "created"], name="job_queue")]

    def __str__(self) -> str:
        return self.subject


class Worker(models.Model):
    """A worker, and when it was last seen."""

    name = models.CharField(max_length=200, unique=True)
    started = models.DateTimeField(default=timezone.now)
    seen = models.DateTimeField(default=timezone.now)
