"""WSGI application."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.core.wsgi import get_wsgi_application

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["application", "without_bodies"]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "capeval_server.config.settings")
_BODILESS = ("1", "204", "304")


def without_bodies(answering: WSGIApplication) -> WSGIApplication:
    """Wrap an application: responses to HEAD keep their Content-Length but no body.

    waitress sends the body of every response, and a client would read it as the next response.
    """

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "HEAD":
            return answering(environ, start_response)
        # Ranges apply to GET only; the response to HEAD describes the whole content.
        environ.pop("HTTP_RANGE", None)
        status, headers = "", []

        def start(new_status: str, new_headers: list[tuple[str, str]], _: Any = None, /) -> Any:
            nonlocal status, headers
            status, headers = new_status, list(new_headers)
            return lambda _: None

        body = answering(environ, start)
        try:
            if not any(name.lower() == "content-length" for name, _ in headers):
                length = sum(map(len, body))
                if not status.startswith(_BODILESS):
                    headers.append(("Content-Length", str(length)))
        finally:
            if hasattr(body, "close"):
                body.close()
        start_response(status, headers)
        return []

    return answer


application = without_bodies(get_wsgi_application())
