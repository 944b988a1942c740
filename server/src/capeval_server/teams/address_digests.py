"""Keyed hashes of users' addresses: by them a new account is known to be of who had another one."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.crypto import salted_hmac

from capeval_server.challenges.models import Challenge

__all__ = ["digests", "known_digests"]

# Of the module that made the first of them; with another one, these would be known no more.
_SALT = "capeval_server.submissions.former"


def digests(user: User, challenge: Challenge) -> list[str]:
    """Hashes of a user's verified addresses, which say nothing without the server's key, to be stored."""
    return _made(user, challenge, [settings.SECRET_KEY])


def known_digests(user: User, challenge: Challenge) -> list[str]:
    """The hashes by which a user's addresses may be stored, also by the key before the server's."""
    return _made(user, challenge, [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS])


def _made(user: User, challenge: Challenge, keys: list[str]) -> list[str]:
    addresses = EmailAddress.objects.filter(user=user, verified=True).values_list("email", flat=True)
    # They differ by challenge, so that they can't be compared.
    texts = [f"{challenge.pk} {address.lower()}" for address in addresses]
    made = (salted_hmac(_SALT, text, key, algorithm="sha256") for text in texts for key in keys)
    return [one.hexdigest() for one in made]
