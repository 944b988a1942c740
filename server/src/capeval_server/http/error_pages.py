"""HTTP status of each error, for pages and the API, and error pages."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.template.loader import render_to_string
from django.views import defaults

from capeval.errors import CapevalError
from capeval_server.core import errors, transient_errors

__all__ = [
    "RETRY_SECONDS",
    "STATUSES",
    "ErrorPageMiddleware",
    "log_transient_error",
    "server_error",
    "unavailable",
]

_log = logging.getLogger(__name__)
STATUSES: dict[type[CapevalError], int] = {
    errors.EntryError: 403,
    errors.PhaseError: 403,
    errors.NotFoundError: 404,
    errors.AssignmentError: 409,
    errors.ConflictError: 409,
    errors.RepeatedKeyError: 409,
    errors.SubmissionStateError: 409,
    errors.SuccessorError: 409,
    errors.TeamError: 409,
    errors.AnswerError: 422,
    errors.CampaignError: 422,
    errors.ChallengeError: 422,
    errors.LeaderboardQueryError: 422,
    errors.UploadError: 422,
    errors.QuotaError: 429,
    errors.RateLimitError: 429,
}
RETRY_SECONDS = "60"
# Browsers reload an unavailable page after this many seconds.
_REFRESH_SECONDS = "10"


def log_transient_error(error: Exception) -> str:
    """Log a transient error and return its message; return "" for other errors."""
    text = transient_errors.get_message(error)
    if text:
        _log.error("a request failed", exc_info=error)
    return text


def unavailable(request: HttpRequest, text: str) -> HttpResponse:
    """Return the 503 response for a transient error.

    Args:
        request: The request.
        text: The user-facing message.
    """
    headers = {"Retry-After": RETRY_SECONDS}
    if request.path.startswith("/api/"):
        return JsonResponse({"detail": text}, status=503, headers=headers)
    if request.method in ("GET", "HEAD"):
        headers["Refresh"] = _REFRESH_SECONDS
    # Rendered without the request, because loading its user needs the database.
    page = render_to_string("503.html", {"text": text, "again": "Refresh" in headers})
    return HttpResponse(page, status=503, headers=headers)


def server_error(request: HttpRequest) -> HttpResponse:
    """Return the response to an unhandled error; Django's `handler500`."""
    text = transient_errors.get_message(sys.exc_info()[1])
    return unavailable(request, text) if text else defaults.server_error(request)


class ErrorPageMiddleware:
    """Middleware that renders pages for transient errors and for empty 405 responses."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Return the view's response; an empty 405 response gets a page as its content."""
        answer = self._get_response(request)
        if isinstance(answer, HttpResponseNotAllowed) and not answer.content:
            # Only the content is replaced: the response lists the allowed methods.
            answer.content = render_to_string("405.html", request=request).encode()
        return answer

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the response to a transient error, or None for unexpected errors.

        Raises:
            Http404: The object was not found; Django responds with the 404 page.
        """
        if isinstance(error, errors.NotFoundError):
            raise Http404
        text = log_transient_error(error)
        return unavailable(request, text) if text else None
