"""Page of the scoring queue."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from capeval_server.jobs.leases import database_time
from capeval_server.submissions.selectors.queue import get_queue_status
from capeval_server.web import presenters

__all__ = ["show_jobs"]


def show_jobs(request: HttpRequest) -> HttpResponse:
    """Show the scoring queue and its workers."""
    now = database_time()
    found = get_queue_status(now)
    most = max(scored for _, scored in found.by_hour)
    bars = [_build_bar(place, hour, scored, most) for place, (hour, scored) in enumerate(found.by_hour)]
    context = {
        "jobs": found,
        "bars": bars,
        "most": most,
        "now": now,
        "wait": _describe_wait(found.expected_wait),
    }
    part = request.headers.get("HX-Request") == "true"
    answer = render(request, "web/public/jobs_now.html" if part else "web/public/jobs.html", context)
    patch_vary_headers(answer, ["HX-Request"])
    return answer


def _build_bar(place: int, hour: datetime, scored: int, most: int) -> dict[str, Any]:
    height = round(80 * scored / max(most, 1))
    shape = {"x": 2 + 24 * place, "y": 80 - height, "height": height}
    return {**shape, "hour": hour, "scored": scored, "label": hour.hour % 6 == 0}


def _describe_wait(seconds: float | None) -> str:
    if seconds is not None and seconds < 1:
        return "would be scored at once"
    return f"would wait {about}" if (about := presenters.wait(seconds)) else ""
