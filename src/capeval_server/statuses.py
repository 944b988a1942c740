"""The HTTP status of each of the server's own errors, the same for the API and for pages."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string

from capeval.errors import CapevalError
from capeval_server import errors

__all__ = ["PASSING", "RETRY_SECONDS", "STATUSES", "ErrorPages", "passing_text"]

_log = logging.getLogger(__name__)
STATUSES: dict[type[CapevalError], int] = {
    errors.PhaseError: 403,
    errors.NotFoundError: 404,
    errors.ConflictError: 409,
    errors.RepeatedKeyError: 409,
    errors.StandingError: 409,
    errors.TeamError: 409,
    errors.ChallengeError: 422,
    errors.QuestionError: 422,
    errors.UploadError: 422,
    errors.QuotaError: 429,
    errors.RateError: 429,
}
# Temporary errors: the transaction is undone, and trying again later may succeed.
PASSING: dict[type[Exception], str] = {
    errors.BusyError: "the server is checking other uploads",
    OSError: "files can't be stored at the moment",
    OperationalError: "the database does not answer at the moment",
}
RETRY_SECONDS = "60"


def passing_text(error: Exception) -> str:
    """The message for a temporary error, which is logged; empty for other errors."""
    text = next((text for kind, text in PASSING.items() if isinstance(error, kind)), "")
    if text:
        _log.error(text, exc_info=error)
    return text


class ErrorPages:
    """Middleware: answers with a page where a view lets one of these errors through."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The answer of the view."""
        return self._get_response(request)

    def process_exception(self, _: HttpRequest, error: Exception) -> HttpResponse | None:
        """The answer to an error; none for unexpected errors.

        Raises:
            Http404: It was not found; Django answers with the page for that.
        """
        if isinstance(error, errors.NotFoundError):
            raise Http404
        if not passing_text(error):
            return None
        # Rendered without the request: loading its user would need the database.
        return HttpResponse(render_to_string("503.html"), status=503, headers={"Retry-After": RETRY_SECONDS})
