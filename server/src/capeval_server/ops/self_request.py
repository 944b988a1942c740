"""Endpoint that shows a request as the server sees it, for `capeval server check`.

It requires a signed token.
"""

from __future__ import annotations

from django.core import signing
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache

from capeval_server.core.errors import NotFoundError

__all__ = ["PATH", "echo_request", "sign_token"]

PATH = "reached"
_SALT, _SECONDS = "capeval.reached", 60


def sign_token() -> str:
    """Return a signed token that identifies the server's own command."""
    return signing.dumps("reached", salt=_SALT)


@never_cache
def echo_request(request: HttpRequest) -> HttpResponse:
    """Return the client address and host of the request, as the server sees them.

    Raises:
        NotFoundError: The token is missing or invalid.
    """
    try:
        signing.loads(request.GET.get("question", ""), salt=_SALT, max_age=_SECONDS)
    except signing.BadSignature:
        raise NotFoundError from None
    found = {
        "address": request.META["REMOTE_ADDR"],
        "host": request.get_host(),
        "secure": request.is_secure(),
    }
    return JsonResponse(found)
