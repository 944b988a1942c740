"""The forms of users' own pages."""

from __future__ import annotations

from typing import Any

from allauth.account.forms import LoginForm
from django import forms
from django.contrib.auth.models import User

from capeval_server.accounts.models import Token

__all__ = ["DeletionForm", "SignInForm", "TokenForm"]


class SignInForm(LoginForm):  # type: ignore[misc]
    """The form to sign in by, with labels in the site's own words."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["login"].label = "Username or email"
        del self.fields["login"].widget.attrs["placeholder"]
        self.fields["remember"].label = "Remember me"


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
