"""Error responses of the API."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from ninja import NinjaAPI
from ninja.errors import AuthenticationError

from capeval_server.core import errors, transient_errors
from capeval_server.http.error_pages import RETRY_SECONDS, STATUSES, log_transient_error

__all__ = ["register_error_handlers"]

_UNAUTHENTICATED = AuthenticationError(
    message="send a valid token as 'Authorization: Bearer TOKEN' (got none, or an unknown or expired one)"
)


def register_error_handlers(api: NinjaAPI) -> None:
    """Register the exception handlers of the API."""
    for kind, status in {**STATUSES, PermissionDenied: 403}.items():
        api.add_exception_handler(kind, partial(_create_response, api, status))
    for kind in transient_errors.PASSING:
        api.add_exception_handler(kind, partial(_create_retry_response, api))
    api.add_exception_handler(
        AuthenticationError, lambda request, _: _create_response(api, 401, request, _UNAUTHENTICATED)
    )
    # Django's own message names the model, so it is replaced.
    api.add_exception_handler(
        Http404, lambda request, _: _create_response(api, 404, request, errors.NotFoundError())
    )


def _create_response(api: NinjaAPI, status: int, request: HttpRequest, error: Exception) -> HttpResponse:
    content: dict[str, Any] = {"detail": str(error)}
    if isinstance(error, errors.UploadError):
        content["entry"] = error.entry
    if isinstance(error, errors.SentenceError):
        content["findings"] = error.findings
    if isinstance(error, errors.QuotaError):
        content["allowed_from"] = error.allowed_from
    answer = api.create_response(request, content, status=status)
    if isinstance(error, errors.QuotaError) and (seconds := error.seconds_left(timezone.now())):
        answer["Retry-After"] = str(seconds)
    return answer


def _create_retry_response(api: NinjaAPI, request: HttpRequest, error: Exception) -> HttpResponse:
    answer = api.create_response(request, {"detail": log_transient_error(error)}, status=503)
    answer["Retry-After"] = RETRY_SECONDS
    return answer
