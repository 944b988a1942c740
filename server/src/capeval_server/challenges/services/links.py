"""Secret links to challenges that are not listed, or that only invited people can join."""

from __future__ import annotations

import secrets

from django.http import HttpRequest

from capeval_server.challenges.models import Challenge

__all__ = ["allow", "create_link", "has_link", "is_key", "renew_link"]

_SESSION_KEY = "challenge_links"
_HEADER = "Challenge-Key"


def create_link(challenge: Challenge) -> None:
    """Create the secret link of a challenge that needs one, unless it has one."""
    if challenge.has_link and not challenge.link_key:
        renew_link(challenge)


def renew_link(challenge: Challenge) -> None:
    """Replace the secret link of a challenge. Earlier links stop working."""
    challenge.link_key = secrets.token_urlsafe(18)
    challenge.save(update_fields=["link_key"])


def is_key(challenge: Challenge, text: str) -> bool:
    """Return whether a text is the secret of the link to a challenge."""
    return bool(challenge.link_key) and secrets.compare_digest(challenge.link_key.encode(), text.encode())


def has_link(request: HttpRequest, challenge: Challenge) -> bool:
    """Return whether a visitor opened the secret link of a challenge, or sends its key in a header."""
    given = [request.headers.get(_HEADER, "")]
    if _SESSION_KEY in request.session:
        given.append(request.session[_SESSION_KEY].get(str(challenge.pk), ""))
    return any(is_key(challenge, text) for text in given)


def allow(request: HttpRequest, challenge: Challenge) -> None:
    """Remember that a visitor opened the secret link of a challenge."""
    request.session[_SESSION_KEY] = {
        **request.session.get(_SESSION_KEY, {}),
        str(challenge.pk): challenge.link_key,
    }
