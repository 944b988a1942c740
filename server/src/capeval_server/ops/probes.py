"""Health check and metrics endpoints, exempt from ALLOWED_HOSTS."""

from __future__ import annotations

import functools
import hmac
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, HttpResponse

from capeval_server.core import transient_errors
from capeval_server.ops import metrics
from capeval_server.ops.migration_history import schema_problem

__all__ = ["HealthCheckMiddleware", "database_problem", "storage_problem"]

_KEPT_SECONDS = 2


class HealthCheckMiddleware:
    """Outermost middleware: `/healthz`, `/readyz` and, if configured, `/metrics`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._probes: dict[str, Callable[[HttpRequest], HttpResponse]] = {
            "/healthz": _alive,
            "/readyz": _ready,
        }
        if settings.METRICS:
            self._probes["/metrics"] = _metrics

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Return the response of an endpoint, or of the application."""
        probe = self._probes.get(request.path)
        return self._get_response(request) if probe is None else probe(request)


def _build_response(text: str, status: int) -> HttpResponse:
    headers = {"Cache-Control": "no-store"}
    return HttpResponse(f"{text}\n", status=status, content_type="text/plain", headers=headers)


def _alive(_: HttpRequest) -> HttpResponse:
    return _build_response("the server runs", 200)


def _ready(_: HttpRequest) -> HttpResponse:
    problems = _find_problems(int(time.monotonic() / _KEPT_SECONDS))
    return _build_response("\n".join(problems), 503) if problems else _build_response("ready", 200)


@functools.lru_cache(maxsize=1)
def _find_problems(_: int) -> list[str]:
    """Return the current problems, cached for a short time to limit the load."""
    return [problem for problem in (database_problem(), storage_problem()) if problem]


def _metrics(request: HttpRequest) -> HttpResponse:
    given = request.headers.get("Authorization", "").encode()
    if not hmac.compare_digest(given, f"Bearer {settings.METRICS}".encode()):
        return _build_response("the token of CAPEVAL_SERVER_METRICS is required", 401)
    headers = {"Cache-Control": "no-store"}
    return HttpResponse(metrics.text(), content_type=metrics.CONTENT_TYPE, headers=headers)


def database_problem(*, with_cause: bool = False) -> str:
    """Return the reason why the database can't be used, or "".

    Args:
        with_cause: Whether to add the driver's message, which is for administrators only.
    """
    try:
        return schema_problem()
    except (DatabaseError, InterfaceError) as error:
        connection.close()
        text = transient_errors.get_message(error) or "the database can't be read"
        return text + (transient_errors.cause_of(error) if with_cause else "")


def storage_problem() -> str:
    """Return the reason why files can't be stored, or ""."""
    places = {settings.DATA, *_list_file_folders()}
    try:
        for place in places:
            with tempfile.NamedTemporaryFile(dir=place, prefix=".probe-") as file:
                file.write(bytes(4096))
                file.flush()
                os.fsync(file.fileno())
        # Object stores have their own check.
        getattr(default_storage, "check", lambda: None)()
    except OSError as error:
        return transient_errors.get_message(error)
    if any(
        shutil.disk_usage(place).free < settings.UPLOAD_BYTES + settings.UNPACKED_BYTES for place in places
    ):
        return "the server's storage is nearly full: there is no room for another upload"
    return ""


def _list_file_folders() -> Iterator[Path]:
    """Yield the folder of the file storage, if it is a folder that exists."""
    if isinstance(default_storage, FileSystemStorage) and Path(default_storage.location).exists():
        yield Path(default_storage.location)
