"""What allauth does differently on this server, where it has no setting for it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.shortcuts import render

from capeval_server.accounts.users import check_name

__all__ = ["Adapter"]

_log = logging.getLogger(__name__)


class Adapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Writes the site's address in mail; answers 503 without a mail server; counts failures by account.

    allauth itself writes the host that the request names, and counts failed logins by it.
    """

    def send_mail(self, template_prefix: str, email: str, context_: dict[str, Any]) -> None:
        """Sends mail.

        Raises:
            ImmediateHttpResponse: The mail server doesn't take it.
        """
        try:
            super().send_mail(template_prefix, email, {"current_site": _site(), **_of_site(context_)})
        except OSError as error:
            _log.warning("mail can't be sent: %s", error)
            answer = render(context.request, "503.html", status=503)
            raise ImmediateHttpResponse(answer) from error

    def clean_username(self, username: str, shallow: bool = False) -> str:
        """The name, if it can be had.

        Raises:
            ValidationError: It can't, or looks like another user's.
        """
        found: str = super().clean_username(username, shallow)
        if not shallow:
            check_name(found)
        return found

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        # A client can vary the host and port that it names, and how it names an account: by its username or
        # by any of its addresses.
        login: str = credentials.get("email") or credentials.get("username") or ""
        account = _account_of(credentials)
        return login.lower() if account is None else f"account {account}"


def _account_of(credentials: Mapping[str, Any]) -> int | None:
    """The key of the account that somebody wants to sign in to; none if there is no such account."""
    name, email = credentials.get("username"), credentials.get("email")
    user = User.objects.filter(username__iexact=name).order_by("pk").first() if name else None
    if user is not None:
        return user.pk
    found = EmailAddress.objects.filter(email=(email or "").lower()).order_by("-verified", "pk")
    return found.values_list("user", flat=True).first()  # type: ignore[no-any-return]


def _site() -> SimpleNamespace:
    name = urlsplit(settings.ADDRESS).netloc
    return SimpleNamespace(name=name, domain=name)


def _of_site(context_: dict[str, Any]) -> dict[str, Any]:
    """The variables of a mail, in which addresses of the host that the request names are the site's."""
    host = context.request.get_host()
    return {name: _moved(value, host) for name, value in context_.items()}


def _moved(value: Any, host: str) -> Any:
    parts = urlsplit(value) if isinstance(value, str) and value.startswith(("http://", "https://")) else None
    if parts is None or parts.netloc != host:
        return value
    return settings.ADDRESS + parts._replace(scheme="", netloc="").geturl()
