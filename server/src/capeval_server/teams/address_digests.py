"""Keyed hashes of email addresses, to recognize returning users."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.crypto import salted_hmac

from capeval_server.challenges.models import Challenge

__all__ = ["digests", "known_digests"]

# The name of the module that created the first hashes. A different salt would invalidate stored hashes.
_SALT = "capeval_server.submissions.former"


def digests(user: User, challenge: Challenge) -> list[str]:
    """Return hashes of a user's verified addresses, for storage.

    Without the server's key, they reveal nothing.
    """
    return _compute_digests(user, challenge, [settings.SECRET_KEY])


def known_digests(user: User, challenge: Challenge) -> list[str]:
    """Return the hashes under which a user's addresses may be stored.

    They are computed with the current and the previous server key.
    """
    return _compute_digests(user, challenge, [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS])


def _compute_digests(user: User, challenge: Challenge, keys: list[str]) -> list[str]:
    addresses = EmailAddress.objects.filter(user=user, verified=True).values_list("email", flat=True)
    # Hashes differ by challenge, so that they can't be compared between challenges.
    texts = [f"{challenge.pk} {address.lower()}" for address in addresses]
    made = (salted_hmac(_SALT, text, key, algorithm="sha256") for text in texts for key in keys)
    return [one.hexdigest() for one in made]
