"""The forms of users' own pages."""

from __future__ import annotations

from typing import Any

from allauth.account.forms import (
    AddEmailForm,
    ChangePasswordForm,
    LoginForm,
    ReauthenticateForm,
    ResetPasswordForm,
    ResetPasswordKeyForm,
    SetPasswordForm,
    SignupForm,
)
from allauth.account.models import EmailAddress
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.base.forms import ReauthenticateForm as CodeAgainForm
from allauth.mfa.totp.forms import ActivateTOTPForm
from django import forms
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from capeval_server.accounts.models import Token
from capeval_server.accounts.services.reservations import is_pending, reserve

__all__ = [
    "AddressForm",
    "AppForm",
    "ChangeForm",
    "CodeForm",
    "ConfirmByCodeForm",
    "ConfirmPasswordForm",
    "DeletionForm",
    "ForgottenForm",
    "ResetForm",
    "SetForm",
    "SignInForm",
    "SignUpForm",
    "TokenForm",
]
# In the site's words and in sentence case, by the names of allauth's fields.
_LABELS = {"login": "Username or email", "remember": "Remember me", "oldpassword": "Current password"}


class _Plain(forms.Form):
    """A form of allauth as the site's own are: nothing in a field repeats its label."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name, field in self.fields.items():
            field.label = _LABELS.get(name, field.label)
            field.widget.attrs.pop("placeholder", None)


class SignInForm(_Plain, LoginForm):  # type: ignore[misc]
    """The form to sign in by."""


class ConfirmPasswordForm(_Plain, ReauthenticateForm):  # type: ignore[misc]
    """Asks for the password of somebody who is signed in."""


class AddressForm(_Plain, AddEmailForm):  # type: ignore[misc]
    """Adds an email address."""


class ForgottenForm(_Plain, ResetPasswordForm):  # type: ignore[misc]
    """Asks whose password is forgotten."""


class SignUpForm(_Plain, SignupForm):  # type: ignore[misc]
    """The sign-up form. Its visible effects do not depend on whether the address has an account."""

    def try_save(self, request: HttpRequest) -> Any:
        """Create the account, or send mail to the existing owner of the address."""
        given = self.cleaned_data
        if self.account_already_exists:
            # Most of the time that an account takes is that of this.
            make_password(given["password1"])
        reservation = reserve(given["username"], given["email"])
        user, answer = super().try_save(request)
        reservation.account = user
        reservation.save()
        return user, answer


class AppForm(_Plain, ActivateTOTPForm):  # type: ignore[misc]
    """Sets up an authenticator app."""


class CodeForm(_Plain, AuthenticateForm):  # type: ignore[misc]
    """Asks for the code of a second factor."""


class ConfirmByCodeForm(_Plain, CodeAgainForm):  # type: ignore[misc]
    """Asks for such a code of somebody who is signed in."""


class _Revoking(_Plain):
    """A form for a new password, which offers to revoke the user's tokens."""

    revoke = forms.BooleanField(
        label="Revoke my API tokens",
        help_text="If somebody else may have known your password, they may have made tokens too.",
        required=False,
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["password1"].label = "New password"
        self.fields["password2"].label = "New password (again)"
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
    """Sets a new password by a link in mail, which also confirms the address of a sign-up."""

    def save(self) -> None:
        """Set the password, and confirm the address if no mail to it was followed before."""
        with transaction.atomic():
            super().save()
            if is_pending(self.user):
                for address in EmailAddress.objects.filter(user=self.user):
                    address.set_verified()


class TokenForm(forms.Form):
    """Says what a new token is to be."""

    name = forms.CharField(
        max_length=100, help_text="To recognize it, such as the machine that will use it.", strip=True
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
