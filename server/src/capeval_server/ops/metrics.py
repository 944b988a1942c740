"""Prometheus metrics: requests of all server processes, and the queue."""

from __future__ import annotations

import os
from collections.abc import Iterator

from django.db import DatabaseError, InterfaceError
from django.db.models import Count
from django.http import HttpRequest
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from capeval_server.jobs.handlers import HANDLERS
from capeval_server.jobs.leases import database_time
from capeval_server.jobs.models import Job
from capeval_server.submissions.selectors.queue import get_queue_status

__all__ = ["CONTENT_TYPE", "count", "text"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_REGISTRY = CollectorRegistry()
_RESPONSES = Counter(
    "capeval_requests", "Requests answered.", ["method", "page", "status"], registry=_REGISTRY
)
_SECONDS = Histogram("capeval_request_seconds", "Time to answer a request.", ["page"], registry=_REGISTRY)


class _Queue(Collector):
    """Collector of queue and workers, counted in the database on each scrape."""

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("capeval_database_up", "Whether the database answers.")
        try:
            found = get_queue_status(database_time())
            by_kind = dict(Job.objects.values_list("kind").annotate(Count("pk")))
        except (DatabaseError, InterfaceError):
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        submissions = GaugeMetricFamily(
            "capeval_submissions", "Submissions that are not scored yet.", labels=["state"]
        )
        submissions.add_metric(["waiting"], found.waiting)
        submissions.add_metric(["running"], found.running)
        yield submissions
        workers = GaugeMetricFamily("capeval_workers", "Workers seen within the last minute.")
        workers.add_metric([], len(found.workers))
        yield workers
        waiting = GaugeMetricFamily("capeval_jobs", "Jobs that wait or run.", labels=["kind"])
        for kind in HANDLERS:
            waiting.add_metric([kind], by_kind.get(kind, 0))
        yield waiting
        scored = GaugeMetricFamily("capeval_scored_last_hour", "Submissions scored in the last hour.")
        scored.add_metric([], found.last_hour)
        yield scored


_OF_THE_DATABASE = CollectorRegistry()
_OF_THE_DATABASE.register(_Queue())


def count(request: HttpRequest, status: int, seconds: float) -> None:
    """Count a finished request."""
    # Label by route name: the number of routes is limited, the number of paths is not.
    page = (request.resolver_match.view_name if request.resolver_match else "") or "other"
    method = request.method if request.method in _METHODS else "other"
    _RESPONSES.labels(method, page, str(status)).inc()
    _SECONDS.labels(page).observe(seconds)


def text() -> bytes:
    """Return all metrics in the text format of Prometheus."""
    registry = _REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        # Each process writes its counts to files in that folder; any process can sum them.
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry) + generate_latest(_OF_THE_DATABASE)
