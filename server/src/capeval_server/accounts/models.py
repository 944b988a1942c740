"""API tokens, name keys and name reservations."""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from capeval_server.accounts.name_validation import LONGEST_KEY

__all__ = ["PREFIX", "NameKeys", "NameReservation", "Token"]

PREFIX = "capeval_"
_FORM = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")


class Token(models.Model):
    """API token that acts for a user within its scope. Shown once, stored hashed."""

    class Scope(models.TextChoices):
        """Scope of an API token."""

        READ = "read", "view own submissions"
        SUBMIT = "submit", "view and upload submissions, and choose the one on the leaderboard"
        ORGANIZE = "organize", "everything above, and manage own challenges"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    scope = models.CharField(max_length=10, choices=Scope)
    digest = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(default=timezone.now)
    expires = models.DateTimeField()
    revoked = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"], condition=models.Q(revoked=None), name="token_name_once"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def issue(cls, user_id: int, name: str, scope: str, *, days: int = 365) -> str:
        """Create a token and return its text, which is not stored."""
        text = PREFIX + secrets.token_urlsafe(32)
        expires = timezone.now() + timedelta(days=days)
        cls.objects.create(user_id=user_id, name=name, scope=scope, digest=_digest(text), expires=expires)
        return text

    @staticmethod
    def is_well_formed(text: str) -> bool:
        """Return whether a text has the form of a token. The database is not queried."""
        return _FORM.fullmatch(text) is not None

    @classmethod
    def of_text(cls, text: str) -> Token | None:
        """Return the valid token with a text, or None."""
        valid = cls.objects.filter(revoked=None, expires__gt=timezone.now(), user__is_active=True)
        return valid.filter(digest=_digest(text)).select_related("user").first()

    def revoke(self) -> None:
        """Revoke the token immediately."""
        self.revoked = timezone.now()
        self.save(update_fields=["revoked"])


class NameKeys(models.Model):
    """Confusable keys of a user's name; names with an equal key look alike.

    A user created before the keys existed has none if the name looks like that of an earlier user.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="name_keys"
    )
    folded = models.CharField(max_length=LONGEST_KEY, unique=True)
    look = models.CharField(max_length=LONGEST_KEY, unique=True)

    def __str__(self) -> str:
        return self.look


class NameReservation(models.Model):
    """Name reserved by a sign-up with an unconfirmed address.

    A sign-up reserves its name whether or not the address already has an account, so a reservation does not
    reveal whether the sign-up created an account.

    Attributes:
        name: The name.
        folded: The case-insensitive key of the name.
        look: The key of the name as written.
        address: The address to confirm.
        account: The account that the sign-up created; None if the address already had one.
        expires: The time when the name becomes available again.
    """

    name = models.CharField(max_length=150)
    folded = models.CharField(max_length=LONGEST_KEY, unique=True)
    look = models.CharField(max_length=LONGEST_KEY, unique=True)
    address = models.EmailField()
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+"
    )
    expires = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.name


def _digest(text: str) -> str:
    # The text contains 256 random bits, so a slow password hash would not add security.
    return hashlib.sha256(text.encode()).hexdigest()
