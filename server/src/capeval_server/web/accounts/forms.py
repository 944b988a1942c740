"""Forms of the account pages."""

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
# Labels in the style of the site, by the names of allauth's fields.
_LABELS = {"login": "Username or email", "remember": "Remember me", "oldpassword": "Current password"}


class _SiteForm(forms.Form):
    """Allauth form in the style of the site: no placeholder repeats a label."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name, field in self.fields.items():
            field.label = _LABELS.get(name, field.label)
            field.widget.attrs.pop("placeholder", None)


class SignInForm(_SiteForm, LoginForm):  # type: ignore[misc]
    """Form to sign in."""


class ConfirmPasswordForm(_SiteForm, ReauthenticateForm):  # type: ignore[misc]
    """Form that asks a signed-in user for the password again."""


class AddressForm(_SiteForm, AddEmailForm):  # type: ignore[misc]
    """Form to add an email address."""


class ForgottenForm(_SiteForm, ResetPasswordForm):  # type: ignore[misc]
    """Form to request a password reset."""


class SignUpForm(_SiteForm, SignupForm):  # type: ignore[misc]
    """Form to sign up. It does not reveal whether the address has an account."""

    def try_save(self, request: HttpRequest) -> Any:
        """Create the account, or send mail to the existing owner of the address."""
        given = self.cleaned_data
        if self.account_already_exists:
            # Hashing takes most of the time of creating an account, so the response times stay similar.
            make_password(given["password1"])
        reservation = reserve(given["username"], given["email"])
        user, answer = super().try_save(request)
        reservation.account = user
        reservation.save()
        return user, answer


class AppForm(_SiteForm, ActivateTOTPForm):  # type: ignore[misc]
    """Form to set up an authenticator app."""


class CodeForm(_SiteForm, AuthenticateForm):  # type: ignore[misc]
    """Form that asks for the code of a second factor."""


class ConfirmByCodeForm(_SiteForm, CodeAgainForm):  # type: ignore[misc]
    """Form that asks a signed-in user for the code of a second factor."""


class _NewPasswordForm(_SiteForm):
    """Form for a new password that offers to revoke the user's tokens."""

    revoke = forms.BooleanField(
        label="Revoke my API tokens",
        help_text="If someone else may have known your password, they may have created tokens as well.",
        required=False,
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["password1"].label = "New password"
        self.fields["password2"].label = "New password (again)"
        if not self._list_tokens().exists():
            del self.fields["revoke"]

    def _list_tokens(self) -> QuerySet[Token]:
        return Token.objects.filter(user=self.user, revoked=None)  # type: ignore[attr-defined]

    def save(self) -> None:
        """Set the password and, if chosen, revoke the user's tokens."""
        with transaction.atomic():
            super().save()  # type: ignore[misc]
            if self.cleaned_data.get("revoke"):
                self._list_tokens().update(revoked=timezone.now())


class ChangeForm(_NewPasswordForm, ChangePasswordForm):  # type: ignore[misc]
    """Form to change a password."""


class SetForm(_NewPasswordForm, SetPasswordForm):  # type: ignore[misc]
    """Form to set the first password of a user."""


class ResetForm(_NewPasswordForm, ResetPasswordKeyForm):  # type: ignore[misc]
    """Form to set a new password through a mailed link.

    Following the link also confirms the address of a sign-up.
    """

    def save(self) -> None:
        """Set the password, and confirm the address if the sign-up is still pending."""
        with transaction.atomic():
            super().save()
            if is_pending(self.user):
                for address in EmailAddress.objects.filter(user=self.user):
                    address.set_verified()


class TokenForm(forms.Form):
    """Form to create an API token."""

    name = forms.CharField(
        max_length=100,
        help_text="Identifies the token, for example the machine that uses it.",
        strip=True,
    )
    scope = forms.ChoiceField(
        label="Scope",
        choices=Token.Scope.choices,
        initial=Token.Scope.SUBMIT,
        widget=forms.RadioSelect,
    )
    days = forms.IntegerField(label="Valid for (days)", min_value=1, max_value=3650, initial=365)


class DeletionForm(forms.Form):
    """Form that asks users to type their name before their account is deleted."""

    username = forms.CharField(label="Your username", widget=forms.TextInput({"autocomplete": "off"}))

    def __init__(self, user: User, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._user = user

    def clean_username(self) -> str:
        """Return the name.

        Raises:
            ValidationError: It is not the user's name.
        """
        name: str = self.cleaned_data["username"]
        if name != self._user.get_username():
            raise forms.ValidationError("This is not your username.")
        return name
