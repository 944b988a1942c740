"""Limits of request bodies: upload routes, credentials and total bytes stored."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.conf import settings
from django.http import parse_cookie
from django.urls import Resolver404, resolve

from capeval_server.accounts.models import Token

__all__ = ["SpooledBytes", "accepts_uploads", "has_credentials", "is_for_uploads"]

View = TypeVar("View", bound=Callable[..., Any])
# The form of Django's session keys.
_SESSION = re.compile(r"[a-z0-9]{32}")
_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)


def accepts_uploads(view: View) -> View:
    """Mark a view or API operation that accepts request bodies as large as an upload."""
    view.accepts_uploads = True  # type: ignore[attr-defined]
    return view


def is_for_uploads(path: str) -> bool:
    """Return whether the route of a path accepts uploads."""
    try:
        view = resolve(path).func
    except Resolver404:
        return False
    return getattr(view, "accepts_uploads", False)


def has_credentials(headers: Mapping[str, str]) -> bool:
    """Return whether a request has a well-formed token or session key.

    Views check whether it is valid.

    Args:
        headers: The headers, by names such as `AUTHORIZATION`.
    """
    bearer = _BEARER.fullmatch(headers.get("AUTHORIZATION", ""))
    if bearer is not None:
        return Token.is_well_formed(bearer[1])
    session = parse_cookie(headers.get("COOKIE", "")).get(settings.SESSION_COOKIE_NAME, "")
    return _SESSION.fullmatch(session) is not None


class SpooledBytes:
    """Budget of bytes that a process stores for large requests before their responses."""

    def __init__(self, most: int) -> None:
        self.most, self.reserved = most, 0
        self._lock = threading.Lock()

    def reserve(self, size: int) -> bool:
        """Reserve bytes; return False if too few are free."""
        with self._lock:
            if self.reserved + size > self.most:
                return False
            self.reserved += size
            return True

    def release(self, size: int) -> None:
        """Release reserved bytes."""
        with self._lock:
            self.reserved -= size
