"""Conditional GET: ETags and 304 responses."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response

from capeval_server.http.private_responses import is_private

__all__ = ["compute_etag", "respond_conditionally"]


def respond_conditionally(request: HttpRequest, etag: str, make: Callable[[], HttpResponse]) -> HttpResponse:
    """Return a response with an ETag; status 304 if the client has the content.

    Args:
        request: The request.
        etag: The ETag of the content; empty for a response that must not be reused.
        make: Creates the full response.
    """
    known = get_conditional_response(request, etag=etag) if etag else None
    # Without a response to compare, Django returns None if the client does not have the content.
    answer: HttpResponse = make() if known is None else known
    if etag:
        answer["ETag"] = etag
    # Clients must revalidate each time, because leaderboards change; the ETag avoids sending content again.
    answer["Cache-Control"] = "private, no-store" if is_private(request) else "private, no-cache"
    return answer


def compute_etag(*parts: bytes) -> str:
    """Return the ETag of content parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return f'"{digest.hexdigest()[:32]}"'
