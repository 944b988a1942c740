"""What a request looks like when it arrives, for `capeval server check`: nobody else can ask for it."""

from __future__ import annotations

from django.core import signing
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache

from capeval_server.core.errors import NotFoundError

__all__ = ["PATH", "question", "reached"]

PATH = "reached"
_SALT, _SECONDS = "capeval.reached", 60


def question() -> str:
    """A text by which the server knows that its own command asks."""
    return signing.dumps("reached", salt=_SALT)


@never_cache
def reached(request: HttpRequest) -> HttpResponse:
    """The address of the client and the host, as the server sees them.

    Raises:
        NotFoundError: Somebody else asks.
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
