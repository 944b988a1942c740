"""The page about a request that is too large, which waitress refuses before Django sees it."""

from __future__ import annotations

from csp.utils import build_policy
from django.conf import settings
from django.template.loader import render_to_string
from waitress.task import ErrorTask
from waitress.utilities import RequestEntityTooLarge

__all__ = ["RefusalTask"]


class RefusalTask(ErrorTask):  # type: ignore[misc]
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
