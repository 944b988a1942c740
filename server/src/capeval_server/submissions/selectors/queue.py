"""Public state of the queue: number of submissions, workers and expected wait."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import TruncHour

from capeval_server.jobs.models import Job, Worker
from capeval_server.submissions.models import Submission
from capeval_server.submissions.services.lifecycle import SCORING

__all__ = [
    "QueueStatus",
    "ScoredHour",
    "ScoringProgress",
    "SeenWorker",
    "ahead_of",
    "expected_wait",
    "get_queue_status",
    "scoring_of",
    "workers_run",
]

_SEEN = timedelta(minutes=1)
_RECENT = 50
_HOURS = 24
_WAITING, _RUNNING = Q(state=Submission.State.WAITING), Q(state=Submission.State.RUNNING)
# Human baselines are scored after all other submissions, including later ones.
_BEFORE_NEW = _RUNNING | (_WAITING & Q(baseline_of=None))


@dataclass(frozen=True, kw_only=True)
class SeenWorker:
    """Worker that was seen within the last minute.

    Attributes:
        started: Start time of the worker.
        seen: Time of its last heartbeat.
    """

    started: datetime
    seen: datetime


class ScoredHour(NamedTuple):
    """Number of submissions scored in one clock hour."""

    begins: datetime
    scored: int


@dataclass(frozen=True, kw_only=True)
class QueueStatus:
    """Queue and workers.

    Attributes:
        waiting: Number of submissions that wait.
        running: Number of submissions that are being scored.
        workers: Workers seen within the last minute.
        expected_wait: Expected wait of a new submission in seconds; None without workers, and before the
            first submission is scored.
        last_hour: Number of submissions scored in the last hour.
        last_day: Number of submissions scored in the last 24 hours.
        by_hour: Number of submissions scored in each of the last 24 clock hours.
    """

    waiting: int
    running: int
    workers: list[SeenWorker]
    expected_wait: float | None
    last_hour: int
    last_day: int
    by_hour: list[ScoredHour]


def get_queue_status(now: datetime) -> QueueStatus:
    """Return the queue and the workers at a time of the database's clock."""
    scored = Q(state=Submission.State.SCORED)
    counts = Submission.objects.aggregate(
        waiting=Count("pk", filter=_WAITING),
        running=Count("pk", filter=_RUNNING),
        ahead=Count("pk", filter=_BEFORE_NEW),
        last_hour=Count("pk", filter=scored & Q(finished__gt=now - timedelta(hours=1))),
        last_day=Count("pk", filter=scored & Q(finished__gt=now - timedelta(days=1))),
    )
    workers = _filter_workers(now).order_by("started", "pk")
    found = [SeenWorker(started=worker.started, seen=worker.seen) for worker in workers]
    ahead = counts.pop("ahead")
    return QueueStatus(
        **counts,
        workers=found,
        expected_wait=_expected_wait(ahead, found[0].started) if found else None,
        by_hour=_count_by_hour(now),
    )


@dataclass(frozen=True, kw_only=True)
class ScoringProgress:
    """Progress of a submission's scoring.

    Attributes:
        elapsed: Seconds since a worker began.
        split: Name of the split that is being scored; empty if not known yet.
        references: Name of the reference set.
        metric: Name of the metric.
        number: Number of the metric, from 1.
        total: Number of metrics, counted for each split and reference set.
        work: The long work of the metric, such as "Parsing captions"; empty if there is none.
        work_done: The amount of that work that is done, such as the number of captions.
        work_total: The total amount of that work.
    """

    elapsed: float
    split: str = ""
    references: str = ""
    metric: str = ""
    number: int = 0
    total: int = 0
    work: str = ""
    work_done: int = 0
    work_total: int = 0


def scoring_of(submission: Submission, now: datetime) -> ScoringProgress | None:
    """Return the progress of a submission's scoring, or None if no worker scores it."""
    job = Job.objects.filter(kind=SCORING, subject=str(submission.pk), begun__isnull=False).first()
    if job is None or job.begun is None:
        return None
    return ScoringProgress(elapsed=max((now - job.begun).total_seconds(), 0.0), **job.progress)


def ahead_of(submission: Submission) -> int:
    """Return the number of submissions that are scored before a waiting one."""
    before = Q(created__lt=submission.created, baseline_of=None)
    if submission.baseline_of_id is not None:
        before = Q(baseline_of=None) | Q(created__lt=submission.created)
    found = Submission.objects.filter(_RUNNING | (_WAITING & before))
    return found.exclude(pk=submission.pk).count()


def expected_wait(ahead: int, now: datetime) -> float | None:
    """Return the expected wait in seconds after `ahead` others, as in `QueueStatus`."""
    first = _filter_workers(now).order_by("started").first()
    return None if first is None else _expected_wait(ahead, first.started)


def workers_run(now: datetime) -> bool:
    """Return whether a worker was seen within the last minute."""
    return _filter_workers(now).exists()


def _filter_workers(now: datetime) -> QuerySet[Worker]:
    return Worker.objects.filter(seen__gt=now - _SEEN)


def _expected_wait(ahead: int, started: datetime) -> float | None:
    """Return the expected wait after `ahead` others, with workers since `started`."""
    recent = Submission.objects.filter(state=Submission.State.SCORED, finished__isnull=False)
    found = recent.order_by("-finished").values_list("created", "finished")[:_RECENT]
    times = [(came, done) for came, done in found if done is not None]
    # Time before the start of the workers is not part of the time that they need.
    latest = [(max(came, started), done) for came, done in times if done > started]
    seconds = _compute_seconds_each(latest or times)
    return None if seconds is None else ahead * seconds


def _compute_seconds_each(times: Sequence[tuple[datetime, datetime]]) -> float | None:
    """Return the median time per submission in seconds, while work was waiting.

    The time of a submission that came after the end of the previous one counts from its arrival. So the
    result is the time that all workers together need for one submission.

    Args:
        times: The arrival and end of submissions, the last end first.
    """
    spans = [(done - max(came, before)).total_seconds() for (came, done), (_, before) in pairwise(times)]
    if not spans:
        spans = [(done - came).total_seconds() for came, done in times]
    return statistics.median(spans) if spans else None


def _count_by_hour(now: datetime) -> list[ScoredHour]:
    last = now.replace(minute=0, second=0, microsecond=0)
    first = last - timedelta(hours=_HOURS - 1)
    counted = Submission.objects.filter(state=Submission.State.SCORED, finished__gte=first)
    counts = dict(
        counted.annotate(hour=TruncHour("finished")).values_list("hour").annotate(number=Count("pk"))
    )
    hours = (first + timedelta(hours=hour) for hour in range(_HOURS))
    return [ScoredHour(hour, counts.get(hour, 0)) for hour in hours]
