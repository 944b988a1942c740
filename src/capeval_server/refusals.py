"""Responses to requests that are refused before Django sees them."""

from __future__ import annotations

from csp.utils import build_policy
from django.conf import settings
from django.template.loader import render_to_string
from waitress.task import ErrorTask, Task
from waitress.utilities import RequestEntityTooLarge

__all__ = ["HeadTask", "RefusalTask"]


class HeadTask(Task):  # type: ignore[misc]
    """A response without a body where the request is HEAD."""

    def write(self, data: bytes) -> None:
        """Write the headers and, unless the request is HEAD, the body."""
        super().write(b"" if self._is_head() else data)

    def finish(self) -> None:
        """Write the end of the response."""
        if not self.wrote_header:
            self.write(b"")
        # The end of a chunked body is part of the body.
        self.chunked_response = self.chunked_response and not self._is_head()
        super().finish()

    def _is_head(self) -> bool:
        # `self.request` may be a stand-in that waitress makes after an error; the channel has the request.
        asked = self.channel.requests[0] if self.channel.requests else self.request
        return getattr(asked, "is_head", False)


class RefusalTask(HeadTask, ErrorTask):  # type: ignore[misc]
    """Answers with the server's page, where waitress has a line of text; that stays for programs."""

    def execute(self) -> None:
        """Writes the answer."""
        # A request that failed in the server has no path here.
        is_large = isinstance(self.request.error, RequestEntityTooLarge)
        if not is_large or self.request.path.startswith("/api/"):
            super().execute()
            return
        page = render_to_string("413.html", {"bytes": settings.UPLOAD_BYTES}).encode()
        self.status = "413 Content Too Large"
        self.response_headers.append(("Content-Type", "text/html; charset=utf-8"))
        self.response_headers.append(("Content-Security-Policy", build_policy()))
        self.set_close_on_finish()
        self.content_length = len(page)
        self.write(page)
