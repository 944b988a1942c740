"""Keys of secret links that a visitor opened, in the session or in a header."""

from __future__ import annotations

from django.http import HttpRequest

__all__ = ["get_keys", "remember_key"]

_SESSION_KEY = "challenge_links"
_HEADER = "Challenge-Key"


def get_keys(request: HttpRequest, challenge: int) -> list[str]:
    """Return the keys that a visitor has for a challenge: of an opened link, and in the header."""
    opened = request.session.get(_SESSION_KEY, {}).get(str(challenge), "")
    return [key for key in (request.headers.get(_HEADER, ""), opened) if key]


def remember_key(request: HttpRequest, challenge: int, key: str) -> None:
    """Remember that a visitor opened the link of a challenge."""
    request.session[_SESSION_KEY] = {**request.session.get(_SESSION_KEY, {}), str(challenge): key}
