"""Log formatters and filters: request ids, and removal of addresses and secrets."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError
from django.urls import Resolver404, ResolverMatch, resolve

from capeval_server.core import transient_errors

__all__ = [
    "JsonFormatter",
    "LineFormatter",
    "RouteNameFilter",
    "ShortTracebacks",
    "request_named",
    "route_of",
    "route_of_path",
]

# The id of the current request; empty outside of requests.
_request: ContextVar[str] = ContextVar("request", default="")
_answered: ContextVar[HttpRequest | None] = ContextVar("answered", default=None)
_HIDDEN = "[hidden]"
# Errors of requests; Django logs them with their traceback.
_REJECTIONS = (BadRequest, MultiPartParserError, PermissionDenied, SuspiciousOperation)
# Shorter texts occur in other words. The only secrets as short are the codes of authenticator apps.
_SHORTEST = 8
# The shortest secret in a path that no route matches; fixed path segments are shorter.
_SHORTEST_UNMATCHED = 16
_URL = re.compile(
    r"""(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,20}://)(?P<user>[^\s/?#'"<>]*@)?(?P<host>[^\s/?#'"<>]*)(?P<rest>[^\s'"<>]*)"""
)


@contextmanager
def request_named(name: str, request: HttpRequest | None = None) -> Iterator[None]:
    """Add a request's id to all log lines of a context, and hide its secrets in them."""
    token, answered = _request.set(name), _answered.set(request)
    try:
        yield
    finally:
        _request.reset(token)
        _answered.reset(answered)


def route_of(request: HttpRequest) -> str:
    """Return the name of a request's route, or its pattern; never parameter values."""
    return _name_route(request.resolver_match, request.path)


def route_of_path(path: str) -> str:
    """Return the name of the route of a path; never parameter values."""
    try:
        match = resolve(path)
    except Resolver404:
        match = None
    return _name_route(match, path)


def _name_route(match: ResolverMatch | None, path: str) -> str:
    if match is not None:
        return match.view_name if match.url_name else match.route
    return "static" if path.startswith(settings.STATIC_URL) else "unmatched"


def _clean(text: str) -> str:
    """Remove the request's secrets from a text, and reduce URLs to scheme and host."""
    request = _answered.get()
    for secret in _list_secrets(request) if request is not None else ():
        text = text.replace(secret, _HIDDEN)
    return _URL.sub(_shorten_url, text)


def _shorten_url(found: re.Match[str]) -> str:
    ending = "/..." if found["rest"].strip("/.,;:)]") else found["rest"]
    return f"{found['scheme']}{found['host']}{ending}"


def _list_secrets(request: HttpRequest) -> list[str]:
    """Return all texts of a request that may be secrets, longest first."""
    match, meta = request.resolver_match, request.META
    given = [
        meta.get("QUERY_STRING", ""),
        meta.get("HTTP_REFERER", ""),
        meta.get("HTTP_AUTHORIZATION", "").rpartition(" ")[2],
        *(value for _, value in parse_qsl(meta.get("QUERY_STRING", ""))),
        *request.COOKIES.values(),
    ]
    # Only a form that was already parsed: parsing it here could fail again.
    form = getattr(request, "_post", None)
    if form is not None:
        given += [value for values in form.lists() for value in values[1]]
    if match is None:
        given += [part for part in request.path.split("/") if len(part) >= _SHORTEST_UNMATCHED]
    else:
        given += map(str, match.kwargs.values())
    if match is None or match.kwargs:
        given += [request.path, meta.get("REQUEST_URI", "")]
    return sorted({text for text in given if len(text) >= _SHORTEST}, key=len, reverse=True)


class LineFormatter(logging.Formatter):
    """Formatter of one line per record: time, level, logger, message and request id."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name}: {message}", style="{")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with any traceback."""
        return _clean(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - name in logging.
        """Return the line without a traceback."""
        request = _request.get()
        return super().formatMessage(record) + (f" [{request}]" if request else "")


class JsonFormatter(logging.Formatter):
    """Formatter of one JSON object per line; the access log adds its own fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        found: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _clean(record.getMessage()),
        }
        if request := _request.get():
            found["request"] = request
        found |= getattr(record, "access", {})
        if record.exc_info:
            found["traceback"] = _clean(self.formatException(record.exc_info))
        return json.dumps(found, ensure_ascii=False, default=str)


class RouteNameFilter(logging.Filter):
    """Filter that replaces paths, which may contain secrets, by route names.

    It applies to messages of Django and waitress.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record, and keep it."""
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            # Django escapes the path in its messages.
            paths = (request.path, request.path.encode("unicode_escape").decode())
            record.args = tuple(route_of(request) if arg in paths else arg for arg in record.args)
        if record.name == "waitress":
            # These messages end with the path.
            record.msg = re.sub(r"(?s)(while serving) .*", r"\1 a request", str(record.msg))
        return True


class ShortTracebacks(logging.Filter):
    """Filter that removes tracebacks of rejected requests and of transient errors.

    Clients and outages can cause very many of them, and none is a fault of the program.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten the record, and keep it."""
        error = record.exc_info[1] if record.exc_info else None
        if text := transient_errors.get_message(error):
            record.msg = f"{record.getMessage()}: {text} ({_first_line(error)})"
            record.args, record.exc_info, record.exc_text = None, None, None
        elif isinstance(error, _REJECTIONS):
            record.exc_info, record.exc_text = None, None
        return True


def _first_line(error: BaseException | None) -> str:
    return str(error).strip().partition("\n")[0]
