"""How the server's log is written: as lines or as JSON, with the id of the request that a line is about."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from capeval_server import outages

__all__ = ["JsonFormatter", "LineFormatter", "ShortOutages", "request_named"]

# The id of the request that is being answered; empty outside of requests.
_request: ContextVar[str] = ContextVar("request", default="")


@contextmanager
def request_named(name: str) -> Iterator[None]:
    """Has what is logged meanwhile carry the id of a request."""
    token = _request.set(name)
    try:
        yield
    finally:
        _request.reset(token)


class LineFormatter(logging.Formatter):
    """One line: time, level, logger, message, and the id of the request."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name}: {message}", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name.
        """The line without a traceback."""
        request = _request.get()
        return super().formatMessage(record) + (f" [{request}]" if request else "")


class JsonFormatter(logging.Formatter):
    """One JSON object in a line; the access log adds its own fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        found: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request := _request.get():
            found["request"] = request
        found |= getattr(record, "access", {})
        if record.exc_info:
            found["traceback"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False, default=str)


class ShortOutages(logging.Filter):
    """Has one line in place of a traceback where a temporary failure was logged, which may go on for long."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Shortens a record, and keeps it."""
        error = record.exc_info[1] if record.exc_info else None
        if text := outages.text_of(error):
            record.msg = f"{record.getMessage()}: {text} ({_first_line(error)})"
            record.args, record.exc_info, record.exc_text = None, None, None
        return True


def _first_line(error: BaseException | None) -> str:
    return str(error).strip().partition("\n")[0]
