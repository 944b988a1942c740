"""Unconfirmed sign-ups: name reservations, pending accounts, and their expiry."""

from __future__ import annotations

from datetime import datetime, timedelta

from allauth.account.app_settings import EMAIL_CONFIRMATION_EXPIRE_DAYS
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from capeval_server.accounts.models import NameReservation
from capeval_server.accounts.name_validation import compute_name_keys

__all__ = ["address_of_name", "confirmed", "expire", "is_pending", "is_reserved", "reserve"]

# One day longer than the confirmation link, so the link has expired when the account is deleted.
_VALID = timedelta(days=EMAIL_CONFIRMATION_EXPIRE_DAYS + 1)
_VERIFIED = Exists(EmailAddress.objects.filter(user=OuterRef("pk"), verified=True))
_RESERVED = Exists(NameReservation.objects.filter(account=OuterRef("pk")))


def reserve(name: str, address: str) -> NameReservation:
    """Reserve the name of a sign-up.

    Args:
        name: The name.
        address: The address that the sign-up must confirm.

    Raises:
        IntegrityError: Another sign-up reserved a similar name at the same time.
    """
    folded, look = compute_name_keys(name)
    with transaction.atomic():
        return NameReservation.objects.create(
            name=name, folded=folded, look=look, address=address, expires=timezone.now() + _VALID
        )


def is_reserved(name: str, user: User | None = None) -> bool:
    """Return whether another sign-up reserved a similar name."""
    folded, look = compute_name_keys(name)
    found = NameReservation.objects.filter(Q(folded=folded) | Q(look=look))
    return (found.exclude(account=user) if user else found).exists()


def address_of_name(name: str) -> str | None:
    """Return the address of the sign-up that reserved a name, or None."""
    found = NameReservation.objects.filter(name__iexact=name).order_by("pk")
    return found.values_list("address", flat=True).first()


def is_pending(user: User) -> bool:
    """Return whether the account is from a sign-up that never confirmed its address."""
    return not confirmed(User.objects.filter(pk=user.pk)).exists()


def confirmed(users: QuerySet[User]) -> QuerySet[User]:
    """Return the users, except those with an unconfirmed sign-up."""
    return users.exclude(~_VERIFIED & _RESERVED)


def expire(now: datetime) -> None:
    """Delete expired reservations and their accounts that were never confirmed."""
    with transaction.atomic():
        old = NameReservation.objects.filter(expires__lt=now)
        keys = list(old.values_list("pk", flat=True))
        accounts = list(old.exclude(account=None).values_list("account", flat=True))
        User.objects.filter(~_VERIFIED, pk__in=accounts).delete()
        NameReservation.objects.filter(pk__in=keys).delete()
