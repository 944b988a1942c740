"""The forms of users' own pages."""

from __future__ import annotations

from typing import Any

from allauth.account.forms import (
    ChangePasswordForm,
    LoginForm,
    ResetPasswordKeyForm,
    SetPasswordForm,
    SignupForm,
)
from django import forms
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from capeval_server.accounts.models import Token

__all__ = ["ChangeForm", "DeletionForm", "ResetForm", "SetForm", "SignInForm", "SignUpForm", "TokenForm"]


class SignInForm(LoginForm):  # type: ignore[misc]
    """The form to sign in by, with labels in the site's own words."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["login"].label = "Username or email"
        del self.fields["login"].widget.attrs["placeholder"]
        self.fields["remember"].label = "Remember me"


class SignUpForm(SignupForm):  # type: ignore[misc]
    """The form to sign up by, which takes as long for an address that has an account."""

    def try_save(self, request: HttpRequest) -> Any:
        """Makes the account, or tells the owner of the address that there is one."""
        if self.account_already_exists:
            # Most of the time that an account takes is that of this.
            make_password(self.cleaned_data["password1"])
        return super().try_save(request)


class _Revoking(forms.Form):
    """A form for a new password, which offers to revoke the user's tokens."""

    revoke = forms.BooleanField(
        label="Revoke my API tokens",
        help_text="If somebody else may have known your password, they may have made tokens too.",
        required=False,
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if not self._tokens().exists():
            del self.fields["revoke"]

    def _tokens(self) -> QuerySet[Token]:
        return Token.objects.filter(user=self.user, revoked=None)  # type: ignore[attr-defined]

    def save(self) -> None:
        """Sets the password."""
        with transaction.atomic():
            super().save()  # type: ignore[misc]
            if self.cleaned_data.get("revoke"):
                self._tokens().update(revoked=timezone.now())


class ChangeForm(_Revoking, ChangePasswordForm):  # type: ignore[misc]
    """Changes a password."""


class SetForm(_Revoking, SetPasswordForm):  # type: ignore[misc]
    """Sets the password of a user who has none."""


class ResetForm(_Revoking, ResetPasswordKeyForm):  # type: ignore[misc]
    """Sets the password of a user who forgot it."""


class TokenForm(forms.Form):
    """Says what a new token is to be."""

    name = forms.CharField(
        max_length=100, help_text="To recognise it, such as the machine that will use it.", strip=True
    )
    scope = forms.ChoiceField(
        label="What it allows",
        choices=Token.Scope.choices,
        initial=Token.Scope.SUBMIT,
        widget=forms.RadioSelect,
    )
    days = forms.IntegerField(label="Valid for (days)", min_value=1, max_value=3650, initial=365)


class DeletionForm(forms.Form):
    """Has users type their name before their account is deleted."""

    username = forms.CharField(label="Your username", widget=forms.TextInput({"autocomplete": "off"}))

    def __init__(self, user: User, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._user = user

    def clean_username(self) -> str:
        """The name, if it is the user's."""
        name: str = self.cleaned_data["username"]
        if name != self._user.get_username():
            raise forms.ValidationError("This is not your username.")
        return name
