"""Account adapter of allauth: mail, usernames and login throttling."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar
from urllib.parse import urlencode, urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.account.utils import get_next_redirect_url
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url

from capeval_server.accounts.known_browsers import get_browser_id, remember_browser
from capeval_server.accounts.services.reservations import address_of_name, is_pending
from capeval_server.accounts.services.users import NAME_TAKEN, check_name

__all__ = ["Adapter"]

# Session key of the page that a sign-up was for.
_GOAL = "signed_up_for"
_log = logging.getLogger(__name__)
_MISMATCH = (
    "The username or email and the password are not correct, or the email address is not confirmed yet."
)


class Adapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Account adapter for allauth behavior that has no setting.

    - Mail contains the site's configured address. allauth uses the host that the request names.
    - The response is 503 if the mail server fails.
    - Failed logins are counted per account. allauth's own counter includes the host of the request. Browsers
      that have signed in to the account before have a counter of their own.
    - A sign-up on the way to a page, such as that to join a challenge, leads there after the login.
    - A correct password is rejected like a wrong one while the address of a sign-up is unconfirmed. A
      different response would show that the address had no account before.
    """

    error_messages: ClassVar[dict[str, Any]] = {
        **DefaultAccountAdapter.error_messages,
        "username_password_mismatch": _MISMATCH,
        "email_password_mismatch": _MISMATCH,
        "username_taken": NAME_TAKEN,
    }

    def send_mail(self, template_prefix: str, email: str, context_: dict[str, Any]) -> None:
        """Send mail.

        Raises:
            ImmediateHttpResponse: The mail server rejects the mail or cannot be reached (503).
        """
        try:
            super().send_mail(
                template_prefix, email, {"current_site": _get_site(), **_use_site_address(context_)}
            )
        except OSError as error:
            _log.warning("mail can't be sent: %s", error)
            answer = render(context.request, "503.html", status=503)
            raise ImmediateHttpResponse(answer) from error

    def clean_username(self, username: str, shallow: bool = False) -> str:
        """Return the cleaned username.

        Raises:
            ValidationError: The name is invalid, taken, or looks like another user's name.
        """
        found: str = super().clean_username(username, shallow)
        if not shallow:
            check_name(found)
        return found

    def respond_email_verification_sent(self, request: HttpRequest, user: User | None) -> HttpResponse:
        """Return the response to a sign-up, and remember the page that it was for."""
        if goal := get_next_redirect_url(request):
            request.session[_GOAL] = goal
        answer: HttpResponse = super().respond_email_verification_sent(request, user)
        return answer

    def get_email_verification_redirect_url(self, email_address: EmailAddress) -> str:
        """Return the URL after the confirmation of an address: after a sign-up, the login for its page."""
        url: str = super().get_email_verification_redirect_url(email_address)
        goal = self.request.session.pop(_GOAL, None)
        if goal is None or self.request.user.is_authenticated:
            return url
        return f"{resolve_url(url)}?{urlencode({'next': goal})}"

    def authenticate(self, request: HttpRequest, **credentials: Any) -> User | None:
        """Return the user; for an unconfirmed sign-up, fail as for a wrong password."""
        user: User | None = super().authenticate(request, **credentials)
        if user is None:
            return None
        if is_pending(user):
            self.authentication_failed(request, **credentials)
            return None
        super()._rollback_login_failed_rl_usage()
        return user

    def _rollback_login_failed_rl_usage(self) -> None:
        """Do nothing; `authenticate` resets the counter."""

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        # A client can vary the host and port in the request, and the login: the username or any address of
        # the account. A name that a sign-up reserved counts as its address, even if the sign-up created no
        # account.
        login: str = credentials.get("email") or credentials.get("username") or ""
        account = _find_account_id(credentials)
        if account is None and (address := address_of_name(credentials.get("username") or "")):
            login, account = address, _find_account_id({"email": address})
        if account is None:
            return login.lower()
        browser = get_browser_id(request, account)
        return f"account {account} browser {browser}" if browser else f"account {account}"

    def post_login(self, request: HttpRequest, user: User, **options: Any) -> HttpResponse:
        """Return the response to a login, with the cookie of a known browser."""
        answer: HttpResponse = super().post_login(request, user, **options)
        remember_browser(request, answer, user.pk)
        return answer


def _find_account_id(credentials: Mapping[str, Any]) -> int | None:
    """Return the id of the account that a login names, or None if there is none."""
    name, email = credentials.get("username"), credentials.get("email")
    user = User.objects.filter(username__iexact=name).order_by("pk").first() if name else None
    if user is not None:
        return user.pk
    found = EmailAddress.objects.filter(email=(email or "").lower()).order_by("-verified", "pk")
    return found.values_list("user", flat=True).first()  # type: ignore[no-any-return]


def _get_site() -> SimpleNamespace:
    name = urlsplit(settings.ADDRESS).netloc
    return SimpleNamespace(name=name, domain=name)


def _use_site_address(context_: dict[str, Any]) -> dict[str, Any]:
    """Return a mail's variables, with URLs of the request's host moved to the site."""
    host = context.request.get_host()
    return {name: _move_to_site(value, host) for name, value in context_.items()}


def _move_to_site(value: Any, host: str) -> Any:
    parts = urlsplit(value) if isinstance(value, str) and value.startswith(("http://", "https://")) else None
    if parts is None or parts.netloc != host:
        return value
    return settings.ADDRESS + parts._replace(scheme="", netloc="").geturl()
