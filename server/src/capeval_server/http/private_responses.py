"""Cache headers: responses to signed-in users are not stored."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

__all__ = ["NoStoreMiddleware", "is_private"]

# Forms of accounts, which may contain secrets without a session.
_ACCOUNTS = "/accounts/"


class NoStoreMiddleware:
    """Middleware that forbids browsers and proxies to store private responses.

    A response is private if the request has a session or a token, or is for a page of accounts. Views with a
    `Cache-Control` header of their own keep it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Return the response, with a header if it is private."""
        answer = self._get_response(request)
        is_new_session = settings.SESSION_COOKIE_NAME in answer.cookies
        if "Cache-Control" not in answer.headers and (is_new_session or is_private(request)):
            answer["Cache-Control"] = "private, no-store"
        return answer


def is_private(request: HttpRequest) -> bool:
    """Return whether a request has a session or a token, or is for a page of accounts."""
    has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
    return has_session or "Authorization" in request.headers or request.path.startswith(_ACCOUNTS)
