"""Responses to requests that are rejected before they reach Django."""

from __future__ import annotations

from csp.utils import build_policy
from django.template.loader import render_to_string
from waitress.task import ErrorTask, Task
from waitress.utilities import Error, RequestEntityTooLarge

from capeval_server.http.error_pages import RETRY_SECONDS

__all__ = ["HeadTask", "RefusalTask", "RequestSizeError", "TooManyUploadsError"]


class RequestSizeError(RequestEntityTooLarge):  # type: ignore[misc]
    """Request body that is larger than its route allows.

    Args:
        most: The maximum number of bytes.
        credentials: Whether the limit is higher with a token or a session.
    """

    def __init__(self, most: int, *, credentials: bool = False) -> None:
        text = f"a request to this address may have at most {most:,} bytes"
        if credentials:
            text += ' without a token: send it as "Authorization: Bearer TOKEN"'
        super().__init__(text)
        self.most, self.credentials = most, credentials

    def page(self) -> str:
        """Render the error page."""
        return render_to_string("413.html", {"bytes": self.most, "credentials": self.credentials})


class TooManyUploadsError(Error):  # type: ignore[misc]
    """Request rejected because other uploads use all bytes that the process may store."""

    code, reason = 503, "Service Unavailable"

    def __init__(self) -> None:
        super().__init__("the server receives too many uploads at the moment: try again in a minute")

    def to_response(self, ident: str | None = None) -> tuple[str, list[tuple[str, str]], bytes]:
        """Return status, headers and body."""
        status, headers, body = super().to_response(ident)
        return status, [*headers, ("Retry-After", RETRY_SECONDS)], body

    def page(self) -> str:
        """Render the error page."""
        text = "the server receives too many uploads at the moment"
        return render_to_string("503.html", {"text": text, "again": False})


class HeadTask(Task):  # type: ignore[misc]
    """Response that has no body if the request is HEAD."""

    chunked_response: bool

    def write(self, data: bytes) -> None:
        """Write the headers and, unless the request is HEAD, the body."""
        super().write(b"" if self._is_head() else data)

    def finish(self) -> None:
        """Write the end of the response."""
        if not self.wrote_header:
            self.write(b"")
        # The terminating chunk is part of the body.
        if self._is_head():
            self.chunked_response = False
        super().finish()

    def _is_head(self) -> bool:
        # `self.request` may be a stand-in that waitress creates after an error; the channel has the request.
        asked = self.channel.requests[0] if self.channel.requests else self.request
        return getattr(asked, "is_head", False)


class RefusalTask(HeadTask, ErrorTask):  # type: ignore[misc]
    """Error response with a page for browsers; API clients get waitress's plain text."""

    def execute(self) -> None:
        """Write the response."""
        error = self.request.error
        has_page = isinstance(error, RequestSizeError | TooManyUploadsError)
        # The stand-in request after a server error has no path.
        if not has_page or self.request.path.startswith("/api/"):
            super().execute()
            return
        page = error.page().encode()
        status, headers, _ = error.to_response()
        self.status: str = status
        self.response_headers += [header for header in headers if header[0] != "Content-Type"]
        self.response_headers.append(("Content-Type", "text/html; charset=utf-8"))
        self.response_headers.append(("Content-Security-Policy", build_policy()))
        self.set_close_on_finish()
        self.content_length = len(page)
        self.write(page)
