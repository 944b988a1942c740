"""Connections of the server."""

from __future__ import annotations

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.task import WSGITask

from capeval_server.refusals import HeadTask, RefusalTask

__all__ = ["Channel"]


class Request(HTTPRequestParser):  # type: ignore[misc]
    """A request that knows whether its method is HEAD, also if its headers are invalid."""

    is_head = False

    def received(self, data: bytes) -> int:
        """Parse data of the connection; return how many bytes belong to this request."""
        if not self.headers_finished and not self.is_head:
            # waitress does not parse the method of a request whose headers are too long.
            self.is_head = (self.header_plus[:9] + data[:9]).lstrip().startswith(b"HEAD ")
        consumed: int = super().received(data)
        return consumed


class ResponseTask(HeadTask, WSGITask):  # type: ignore[misc]
    """The application's response to a request."""


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection whose responses to HEAD have no body."""

    parser_class = Request
    task_class = ResponseTask
    error_task_class = RefusalTask
