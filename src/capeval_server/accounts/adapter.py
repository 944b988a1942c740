"""What allauth does differently on this server, where it has no setting for it."""

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
    """Answers 503 when mail can't be sent; counts failed logins by user, not by host."""

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
        # allauth's own key begins with the request's host and port, which a client can vary at will.
        login: str = credentials.get("email") or credentials.get("username") or ""
        return login.lower()
