"""Users: who asks, and making users without the sign-up page."""

from __future__ import annotations

from typing import cast

from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest

__all__ = ["make_user", "user_of"]


def user_of(request: HttpRequest) -> User:
    """The user who asks. The views that call this answer only users who have signed in."""
    return cast(User, request.user)


def make_user(name: str, *, email: str = "", password: str | None = None, staff: bool = False) -> User:
    """Makes a user, whose email address counts as verified.

    Without a password, the user sets one by the page for forgotten passwords, or only has tokens. Staff may
    do all that the administration offers.

    Raises:
        ValidationError: The name or the address is not one or is taken, or the password is too weak.
    """
    email = email.lower()
    user = User(username=name, email=email, is_staff=staff, is_superuser=staff)
    if password is None:
        user.set_unusable_password()
    else:
        validate_password(password, user)
        user.set_password(password)
    user.full_clean()
    if email and EmailAddress.objects.filter(email=email).exists():
        raise ValidationError("A user with that email address already exists.")
    with transaction.atomic():
        user.save()
        if email:
            EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
    return user
