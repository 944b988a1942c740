"""Users: the current user, name checks, and accounts created without sign-up."""

from __future__ import annotations

from typing import cast

from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from capeval_server.accounts.models import NameKeys
from capeval_server.accounts.name_validation import compute_name_keys, find_name_problem
from capeval_server.accounts.services.reservations import is_reserved

__all__ = ["NAME_TAKEN", "check_name", "create_user", "get_user", "update_name_keys"]

# Equal and similar names get the same message: a difference would show whether a sign-up created an account.
NAME_TAKEN = "The name must not look like that of another user."


def get_user(request: HttpRequest) -> User:
    """Return the user of a request, in views that require login."""
    return cast(User, request.user)


def check_name(name: str, user: User | None = None) -> None:
    """Validate a username, including its similarity to other users' names.

    Args:
        name: The name.
        user: The user who gets the name; None for a new user.

    Raises:
        ValidationError: The name is invalid, reserved, or looks like another user's name.
    """
    if problem := find_name_problem(name):
        raise ValidationError(f"The name {problem}.")
    if _find_similar_keys(user, *compute_name_keys(name)).exists() or is_reserved(name, user):
        raise ValidationError(NAME_TAKEN)


def update_name_keys(
    instance: User,
    *,
    created: bool,
    raw: bool = False,
    update_fields: frozenset[str] | None = None,
    **_: object,
) -> None:
    """Store the keys of a user's name.

    Raises:
        IntegrityError: Another user took a similar name at the same time. A user that was just created is
            deleted.
    """
    if raw or (update_fields is not None and "username" not in update_fields):
        return
    folded, look = compute_name_keys(instance.username)
    known = NameKeys.objects.filter(user=instance).first()
    if known is not None and (known.folded, known.look) == (folded, look):
        return
    # Users created before the keys existed may keep names that look like others.
    if known is None and not created and _find_similar_keys(instance, folded, look).exists():
        return
    try:
        with transaction.atomic():
            NameKeys(user=instance, folded=folded, look=look).save()
    except IntegrityError:
        if created:
            instance.delete()
        raise


def _find_similar_keys(user: User | None, folded: str, look: str) -> QuerySet[NameKeys]:
    others = NameKeys.objects.exclude(user=user) if user else NameKeys.objects.all()
    return others.filter(Q(folded=folded) | Q(look=look))


def create_user(name: str, *, email: str = "", password: str | None = None, staff: bool = False) -> User:
    """Create a user with a verified email address.

    Without a password, the user sets one on the page for forgotten passwords, or uses only tokens. Staff are
    superusers: they may use everything in the admin.

    Raises:
        ValidationError: The name or address is invalid or taken, the name looks like another, or the password
            is weak.
    """
    email = email.lower()
    user = User(username=name, email=email, is_staff=staff, is_superuser=staff)
    if password is None:
        user.set_unusable_password()
    else:
        validate_password(password, user)
        user.set_password(password)
    user.full_clean()
    check_name(name)
    if email and EmailAddress.objects.filter(email=email).exists():
        raise ValidationError("A user with that email address already exists.")
    with transaction.atomic():
        user.save()
        if email:
            EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
    return user
