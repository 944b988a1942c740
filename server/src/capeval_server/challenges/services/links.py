"""Secret links to challenges that are not listed, or that only invited people can join."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from capeval_server.challenges.models import Challenge

__all__ = ["create_link", "has_key", "renew_link"]


def create_link(challenge: Challenge) -> None:
    """Create the secret link of a challenge that needs one, unless it has one."""
    if challenge.has_link and not challenge.link_key:
        renew_link(challenge)


def renew_link(challenge: Challenge) -> None:
    """Replace the secret link of a challenge. Earlier links stop working."""
    challenge.link_key = secrets.token_urlsafe(18)
    challenge.save(update_fields=["link_key"])


def has_key(challenge: Challenge, keys: Iterable[str]) -> bool:
    """Return whether one of some texts is the key in the secret link of a challenge."""
    wanted = challenge.link_key.encode()
    return bool(wanted) and any(secrets.compare_digest(wanted, key.encode()) for key in keys)
