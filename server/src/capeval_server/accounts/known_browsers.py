"""Known browsers: those with a cookie from an earlier sign-in to an account.

Their failed sign-ins have a counter of their own, so that failed sign-ins of others can't lock out the owner
of an account.
"""

from __future__ import annotations

import secrets

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

__all__ = ["COOKIE", "get_browser_id", "remember_browser"]

COOKIE = "known-browser"
_SALT, _SECONDS = "capeval.known-browser", 365 * 86_400


def get_browser_id(request: HttpRequest, account: int) -> str:
    """Return the id of a browser that has signed in to an account, or ""."""
    try:
        known, browser = signing.loads(request.COOKIES.get(COOKIE, ""), salt=_SALT, max_age=_SECONDS)
    except signing.BadSignature:
        return ""
    return str(browser) if known == account else ""


def remember_browser(request: HttpRequest, answer: HttpResponse, account: int) -> None:
    """Set the cookie of a browser that has just signed in."""
    browser = get_browser_id(request, account) or secrets.token_urlsafe(16)
    answer.set_cookie(
        COOKIE,
        signing.dumps([account, browser], salt=_SALT),
        max_age=_SECONDS,
        path="/accounts/",
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )
