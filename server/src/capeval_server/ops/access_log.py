"""Access log: each request has an id, which is in its response and log lines."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from capeval_server.ops import metrics
from capeval_server.ops.logging import request_named, route_of

__all__ = ["AccessLogMiddleware"]

_log = logging.getLogger(__name__)
_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


class AccessLogMiddleware:
    """Middleware that assigns a request its id, and logs and counts its response."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Return the response, with the id of the request."""
        began = time.perf_counter()
        name = _get_request_id(request)
        with request_named(name, request):
            answer = self._get_response(request)
            seconds = time.perf_counter() - began
            metrics.count(request, answer.status_code, seconds)
            if settings.ACCESS_LOG:
                _log_response(request, answer, seconds)
        answer["X-Request-ID"] = name
        return answer


def _get_request_id(request: HttpRequest) -> str:
    """Return the id that a proxy assigned to the request, or a new one."""
    given = request.headers.get("X-Request-ID", "") if settings.HTTPS else ""
    return given if _ID.fullmatch(given) else uuid.uuid4().hex


def _log_response(request: HttpRequest, answer: HttpResponse, seconds: float) -> None:
    access = {
        "method": request.method,
        # The route instead of the path, whose parameters may be secrets.
        "route": route_of(request),
        "status": answer.status_code,
        "milliseconds": round(1000 * seconds, 1),
        "address": request.META.get("REMOTE_ADDR", ""),
    }
    _log.info(
        "{method} {route} {status} {milliseconds} ms {address}".format(**access), extra={"access": access}
    )
