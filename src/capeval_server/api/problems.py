"""What the API answers where something is wrong."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from ninja import NinjaAPI

from capeval_server import errors

__all__ = ["answer_problems"]

_log = logging.getLogger(__name__)
# Those whose message is for whoever asked.
_TOLD: dict[type[Exception], int] = {
    errors.PhaseError: 403,
    PermissionDenied: 403,
    errors.RepeatedKeyError: 409,
    errors.StandingError: 409,
    errors.TeamError: 409,
    errors.QuestionError: 422,
    errors.UploadError: 422,
    errors.QuotaError: 429,
}
# Those of the server itself: what passes by and is tried again. What was begun is undone.
_PASSING: dict[type[Exception], str] = {
    OSError: "files can't be stored at the moment",
    OperationalError: "the database does not answer at the moment",
}


def answer_problems(api: NinjaAPI) -> None:
    """Has an API say what is wrong."""
    for kind, status in _TOLD.items():
        api.add_exception_handler(kind, partial(_tell, api, status))
    for kind, text in _PASSING.items():
        api.add_exception_handler(kind, partial(_ask_to_wait, api, text))
    # Django's own text says what kind of thing was looked for.
    api.add_exception_handler(
        Http404, lambda request, _: api.create_response(request, {"detail": "not found"}, status=404)
    )


def _tell(api: NinjaAPI, status: int, request: HttpRequest, error: Exception) -> HttpResponse:
    content: dict[str, Any] = {"detail": str(error)}
    if isinstance(error, errors.UploadError):
        content["entry"] = error.entry
    if isinstance(error, errors.QuotaError):
        content["allowed_from"] = error.allowed_from
    answer = api.create_response(request, content, status=status)
    if isinstance(error, errors.QuotaError) and (seconds := error.seconds_left(timezone.now())):
        answer["Retry-After"] = str(seconds)
    return answer


def _ask_to_wait(api: NinjaAPI, text: str, request: HttpRequest, error: Exception) -> HttpResponse:
    _log.error(text, exc_info=error)
    answer = api.create_response(request, {"detail": text}, status=503)
    answer["Retry-After"] = "60"
    return answer
