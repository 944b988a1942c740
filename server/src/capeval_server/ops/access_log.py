"""Access log: each request has an id, which is in its response and log lines."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from capeval_server.http.payload_too_large import RefusalTask
from capeval_server.ops import metrics
from capeval_server.ops.logging import request_named, route_of, route_of_path

__all__ = ["AccessLogMiddleware", "LoggedRefusalTask"]

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
                # The route instead of the path: parameters in paths may be secrets.
                address = request.META.get("REMOTE_ADDR", "")
                _log_response(request.method, route_of(request), answer.status_code, seconds, address)
        answer["X-Request-ID"] = name
        return answer


def _get_request_id(request: HttpRequest) -> str:
    """Return the id that a proxy assigned to the request, or a new one."""
    given = request.headers.get("X-Request-ID", "") if settings.HTTPS else ""
    return given if _ID.fullmatch(given) else uuid.uuid4().hex


class LoggedRefusalTask(RefusalTask):
    """Response to a request that is rejected before it reaches Django, with its id and a line in the log."""

    def execute(self) -> None:
        """Write and log the response."""
        name = uuid.uuid4().hex
        self.response_headers.append(("X-Request-ID", name))
        super().execute()
        if not settings.ACCESS_LOG:
            return
        # Rejected headers have no method and no path.
        method = getattr(self.request, "command", "") or "-"
        path = getattr(self.request, "path", "")
        route = route_of_path(f"/{path.lstrip('/')}") if path else "unmatched"
        with request_named(name):
            status = self.request.error.code
            _log_response(method, route, status, time.time() - self.start_time, self._get_address())

    def _get_address(self) -> str:
        """Return the address of the client; behind a proxy, the one that the proxy reports."""
        headers = getattr(self.request, "headers", {}) if settings.HTTPS else {}
        reported = headers.get("X_FORWARDED_FOR", "").rpartition(",")[2].strip()
        return reported or str(self.channel.addr[0])


def _log_response(method: str | None, route: str, status: int, seconds: float, address: str) -> None:
    access = {
        "method": method,
        "route": route,
        "status": status,
        "milliseconds": round(1000 * seconds, 1),
        "address": address,
    }
    _log.info(
        "{method} {route} {status} {milliseconds} ms {address}".format(**access), extra={"access": access}
    )
