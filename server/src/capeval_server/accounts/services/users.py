"""Users: who asks, and making users without the sign-up page."""

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
from capeval_server.accounts.name_validation import keys_of, problem_of
from capeval_server.accounts.services.reservations import is_reserved

__all__ = ["NAME_TAKEN", "check_name", "keep_keys", "make_user", "user_of"]

# The same for equal and for similar names: the difference would show whether a sign-up created an account.
NAME_TAKEN = "The name must not look like that of another user."


def user_of(request: HttpRequest) -> User:
    """The user who asks. The views that call this answer only users who have signed in."""
    return cast(User, request.user)


def check_name(name: str, user: User | None = None) -> None:
    """Checks that a name can be had, and looks like no other user's.

    Args:
        name: The name.
        user: Whose it is to be; none for a new user.

    Raises:
        ValidationError: It can't, or does.
    """
    if problem := problem_of(name):
        raise ValidationError(f"The name {problem}.")
    if _others(user, *keys_of(name)).exists() or is_reserved(name, user):
        raise ValidationError(NAME_TAKEN)


def keep_keys(
    instance: User,
    *,
    created: bool,
    raw: bool = False,
    update_fields: frozenset[str] | None = None,
    **_: object,
) -> None:
    """Stores the keys of a user's name with the user.

    Raises:
        IntegrityError: Somebody else got a name that looks like it at the same time.
    """
    if raw or (update_fields is not None and "username" not in update_fields):
        return
    folded, look = keys_of(instance.username)
    known = NameKeys.objects.filter(user=instance).first()
    if known is not None and (known.folded, known.look) == (folded, look):
        return
    # Users of before there were keys go on with names that look like others.
    if known is None and not created and _others(instance, folded, look).exists():
        return
    try:
        with transaction.atomic():
            NameKeys(user=instance, folded=folded, look=look).save()
    except IntegrityError:
        if created:
            instance.delete()
        raise


def _others(user: User | None, folded: str, look: str) -> QuerySet[NameKeys]:
    others = NameKeys.objects.exclude(user=user) if user else NameKeys.objects.all()
    return others.filter(Q(folded=folded) | Q(look=look))


def make_user(name: str, *, email: str = "", password: str | None = None, staff: bool = False) -> User:
    """Makes a user, whose email address counts as verified.

    Without a password, the user sets one by the page for forgotten passwords, or only has tokens. Staff may
    do all that the administration offers.

    Raises:
        ValidationError: The name or address is none, is taken or looks like another; or the password is weak.
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
