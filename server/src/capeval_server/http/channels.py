"""Server connections: limits of request bodies, applied before a body is read."""

from __future__ import annotations

import copy
from typing import Any

from django.conf import settings
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.task import WSGITask
from waitress.utilities import RequestEntityTooLarge

from capeval_server.http.payload_too_large import HeadTask, RefusalTask, RequestSizeError, TooManyUploadsError
from capeval_server.http.request_limits import SpooledBytes, has_credentials, is_for_uploads

__all__ = ["Channel"]

# One per server process, because each process imports this module.
_spooled = SpooledBytes(settings.SPOOLED_BYTES)


class Request(HTTPRequestParser):  # type: ignore[misc]
    """Request with a maximum body size that depends on its headers.

    Attributes:
        is_head: Whether the method is HEAD.
    """

    is_head = False
    adj: Any
    error: Any

    def __init__(self, adjustments: Any) -> None:
        super().__init__(adjustments)
        self._too_large = RequestSizeError(settings.FORM_BYTES)
        self._reserved, self._closed = 0, False

    def received(self, data: bytes) -> int:
        """Parse data of the connection; return how many bytes belong to this request."""
        if self._closed:
            return len(data)
        if not self.headers_finished and not self.is_head:
            # waitress does not parse the method of a request whose headers are too long.
            self.is_head = (self.header_plus[:9] + data[:9]).lstrip().startswith(b"HEAD ")
        consumed: int = super().received(data)
        if isinstance(self.error, RequestEntityTooLarge):
            self.error = self._too_large
        if self.error is not None:
            # The body is not read. A client that waits for "100 Continue" does not get it.
            self.completed, self.expect_continue = True, False
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the headers and set the limit of the body."""
        super().parse_header(header_plus)
        if self.chunked or self.content_length > settings.FORM_BYTES:
            self._allow_upload()

    def _allow_upload(self) -> None:
        # The path as waitress passes it on and Django decodes it.
        path = f"/{self.path.lstrip('/')}".encode("latin-1").decode(errors="replace")
        if not is_for_uploads(path):
            return
        if not has_credentials(self.headers):
            self._too_large = RequestSizeError(settings.FORM_BYTES, credentials=True)
            return
        self._too_large = RequestSizeError(settings.UPLOAD_BYTES)
        self.adj = copy.copy(self.adj)
        self.adj.max_request_body_size = settings.REQUEST_BYTES + 1
        size = settings.REQUEST_BYTES if self.chunked else self.content_length
        if size > settings.REQUEST_BYTES:
            return
        if _spooled.reserve(size):
            self._reserved = size
        else:
            self.error = TooManyUploadsError()

    def close(self) -> None:
        """Delete the body and release the bytes reserved for it."""
        super().close()
        self._closed = True
        reserved, self._reserved = self._reserved, 0
        _spooled.release(reserved)


class ResponseTask(HeadTask, WSGITask):  # type: ignore[misc]
    """The application's response to a request."""


class Channel(HTTPChannel):  # type: ignore[misc]
    """Connection that closes its requests, even after an error."""

    parser_class = Request
    task_class = ResponseTask
    error_task_class = RefusalTask

    def handle_close(self) -> None:
        """Close the connection and a partially received request."""
        super().handle_close()
        if self.request is not None:
            self.request.close()

    def service(self) -> None:
        """Respond to a request, and close it even after an error."""
        request = self.requests[0]
        try:
            super().service()
        finally:
            request.close()
