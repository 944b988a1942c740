"""How allauth behaves on this server, where its settings don't say it."""

from __future__ import annotations

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from django.http import HttpRequest
from django.shortcuts import render

__all__ = ["Adapter"]

_log = logging.getLogger(__name__)


class Adapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Says when mail can't be sent, whoever it is for; counts failed logins of a user wherever made."""

    def send_mail(self, template_prefix: str, email: str, context_: dict[str, Any]) -> None:
        """Sends mail.

        Raises:
            ImmediateHttpResponse: The mail server doesn't take it.
        """
        try:
            super().send_mail(template_prefix, email, context_)
        except OSError as error:
            _log.exception("mail can't be sent")
            answer = render(context.request, "503.html", status=503)
            raise ImmediateHttpResponse(answer) from error

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        # allauth's own begins with the request's host and port, of which a client can invent thousands.
        login: str = credentials.get("email") or credentials.get("username") or ""
        return login.lower()
