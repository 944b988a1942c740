"""Answers that clients keep, and ask for again only to know whether they changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response

__all__ = ["answered", "etag_of"]


def answered(request: HttpRequest, etag: str, make: Callable[[], HttpResponse]) -> HttpResponse:
    """The answer to a request: its status is 304, and it has no content, where the client has it already.

    Args:
        request: The request.
        etag: The ETag of what is asked for; empty for an answer that no later one may stand for.
        make: Makes the answer.
    """
    known = get_conditional_response(request, etag=etag) if etag else None
    # Without an answer to compare with, Django gives None for "not known to the client".
    answer: HttpResponse = make() if known is None else known
    if etag:
        answer["ETag"] = etag
    # Clients must ask again each time, as the leaderboard may have changed; the ETag saves sending it again.
    answer["Cache-Control"] = "private, no-cache"
    return answer


def etag_of(*parts: bytes) -> str:
    """An ETag of some parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return f'"{digest.hexdigest()[:32]}"'
