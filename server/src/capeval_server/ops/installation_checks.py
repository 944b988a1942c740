"""Checks of `capeval server check`: configuration, services and reachability."""

from __future__ import annotations

import http.client
import json
import pkgutil
import re
import shutil
import smtplib
import ssl
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import get_connection
from django.db import DatabaseError, InterfaceError, connection
from django.http.request import validate_host
from django.template.loader import get_template
from django.urls import reverse

import capeval_server
from capeval_server.accounts.models import PREFIX
from capeval_server.jobs.leases import database_time
from capeval_server.ops.probes import database_problem, storage_problem
from capeval_server.ops.self_request import PATH, sign_token
from capeval_server.submissions.selectors.queue import get_queue_status

__all__ = ["InstallationCheckResult", "findings"]

_GIBIBYTE = 2**30
_ENOUGH_BYTES = 5 * _GIBIBYTE
_SECONDS = 10
# Required only for files in an object store.
_OBJECT_STORE = "capeval_server.core.object_store"
# Maximum number of modules and templates to name.
_MOST_BROKEN = 5
# Timeout for a proxy that may reject a large body; a proxy that accepts it sends no response.
_BODY_SECONDS = 2
# An address reserved for documentation, which no client has.
_FORGED_ADDRESS = "192.0.2.1"


@dataclass(frozen=True)
class InstallationCheckResult:
    """Result of a check.

    Attributes:
        level: `ok`; `warning` if the server works but may be misconfigured; or `problem`.
        about: The subject of the check.
        text: The finding, with the fix.
    """

    level: Literal["ok", "warning", "problem"]
    about: str
    text: str


def findings(*, started: bool) -> Iterator[InstallationCheckResult]:
    """Yield the results of all checks.

    Args:
        started: Whether the server and its workers should be running.
    """
    yield from _check_settings()
    yield from _check_pages()
    database = list(_check_database())
    yield from database
    yield from _check_disk()
    yield from _check_mail()
    if not started:
        return
    if all(finding.level == "ok" for finding in database):
        yield from _check_workers()
    yield from _check_site()


def _check_settings() -> Iterator[InstallationCheckResult]:
    address = urlsplit(settings.ADDRESS)
    host = address.hostname or ""
    local = host in ("localhost", "127.0.0.1", "::1")
    about, found = "settings", []
    if not validate_host(f"[{host}]" if ":" in host else host, settings.ALLOWED_HOSTS):
        text = f"the site's address is {settings.ADDRESS}, but CAPEVAL_SERVER_HOSTS does not contain {host!r}"
        found.append(InstallationCheckResult("problem", about, text))
    if settings.HTTPS and address.scheme != "https":
        text = f"CAPEVAL_SERVER_HTTPS is 1, but the site's address is {settings.ADDRESS}"
        found.append(InstallationCheckResult("problem", about, text))
    if not settings.HTTPS and not local:
        text = f"{settings.ADDRESS} is served without HTTPS: passwords can be intercepted"
        found.append(InstallationCheckResult("warning", about, text))
    if "*" in settings.ALLOWED_HOSTS:
        text = "CAPEVAL_SERVER_HOSTS contains '*': the server accepts any host name"
        found.append(InstallationCheckResult("warning", about, text))
    ok = InstallationCheckResult("ok", about, f"the site's address is {settings.ADDRESS}")
    yield from found or [ok]


def _check_pages() -> Iterator[InstallationCheckResult]:
    """Import every module and compile every template of the server, as pages do when they are shown."""
    broken = []
    # Required packages come first: a missing one explains why modules can't be loaded.
    for name in (*_list_requirements(), *_list_modules()):
        broken += _find_error(name, partial(import_module, name))
    folder = Path(capeval_server.__file__).parent / "templates"
    templates = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    for name in templates:
        broken += _find_error(name, partial(get_template, name))
    for text in broken[:_MOST_BROKEN]:
        yield InstallationCheckResult("problem", "pages", text)
    if len(broken) > _MOST_BROKEN:
        text = f"{len(broken) - _MOST_BROKEN} more modules or templates can't be loaded"
        yield InstallationCheckResult("problem", "pages", text)
    if not broken:
        yield InstallationCheckResult("ok", "pages", f"all modules and {len(templates)} templates load")


def _list_modules() -> Iterator[str]:
    """Yield the server's modules, except those of unused optional packages."""
    uses_store = settings.STORAGES["default"]["BACKEND"].startswith(_OBJECT_STORE)
    for found in pkgutil.walk_packages(capeval_server.__path__, "capeval_server."):
        if not found.name.endswith("__main__") and (uses_store or found.name != _OBJECT_STORE):
            yield found.name


def _list_requirements() -> Iterator[str]:
    """Yield the modules of required packages, which some pages import only when they are shown."""
    required = {
        re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0].lower()
        for line in metadata.requires("capeval-server") or ()
        if "extra ==" not in line
    }
    for module, distributions in sorted(metadata.packages_distributions().items()):
        # `pylab` is a second name for matplotlib that loads all of it.
        if module.startswith("_") or module == "pylab":
            continue
        if required & {name.lower() for name in distributions}:
            yield module


def _find_error(name: str, load: Callable[[], object]) -> list[str]:
    """Return the reason why a module or template can't be loaded, or nothing."""
    try:
        load()
    # A module can raise any error when it is imported.
    except Exception as error:
        reason = f"{type(error).__name__}: {_get_first_line(error)}"
        return [f"{name} can't be loaded ({reason}): install capeval-server and its dependencies again"]
    return []


def _check_database() -> Iterator[InstallationCheckResult]:
    problem = database_problem(with_cause=True)
    if problem:
        yield InstallationCheckResult("problem", "database", problem)
        return
    if connection.vendor != "postgresql":
        yield InstallationCheckResult("ok", "database", "SQLite, up to date")
        return
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        ((version,),) = cursor.fetchall()
    yield InstallationCheckResult("ok", "database", f"PostgreSQL {version}, up to date")


def _check_disk() -> Iterator[InstallationCheckResult]:
    problem = storage_problem()
    if problem:
        inside = Path(settings.FILES).is_relative_to(settings.DATA)
        places = f"{settings.DATA}" if inside else f"{settings.DATA} or {settings.FILES}"
        yield InstallationCheckResult("problem", "disk", f"{places}: {problem}")
    for folder in (settings.DATA, tempfile.gettempdir()):
        free = shutil.disk_usage(folder).free
        if free < _ENOUGH_BYTES:
            yield InstallationCheckResult(
                "warning", "disk", f"{folder}: only {free / _GIBIBYTE:.1f} GiB are free"
            )
        elif not problem:
            yield InstallationCheckResult("ok", "disk", f"{folder}: {free / _GIBIBYTE:,.0f} GiB are free")


def _check_mail() -> Iterator[InstallationCheckResult]:
    if settings.EMAIL_BACKEND.endswith("console.EmailBackend"):
        text = "CAPEVAL_SERVER_EMAIL is not set: mail is only written to the log, so nobody can sign up"
        yield InstallationCheckResult("warning", "mail", text)
        return
    server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    mail = get_connection()
    try:
        mail.open()
        mail.close()
    except (OSError, smtplib.SMTPException) as error:
        text = f"{server} does not accept mail ({_get_first_line(error)})"
        yield InstallationCheckResult("problem", "mail", text)
    else:
        yield InstallationCheckResult("ok", "mail", f"{server} answers")
    sender = settings.DEFAULT_FROM_EMAIL
    if sender.endswith("@localhost"):
        text = "CAPEVAL_SERVER_EMAIL_FROM is not set: the sender of mail is on localhost"
        yield InstallationCheckResult("warning", "mail", text)
    else:
        yield InstallationCheckResult("ok", "mail", f"mail is from {sender}")


def _check_workers() -> Iterator[InstallationCheckResult]:
    try:
        found = get_queue_status(database_time())
    except (DatabaseError, InterfaceError):
        yield InstallationCheckResult("problem", "workers", "the database failed during the check")
        return
    waiting = f"waiting submissions: {found.waiting}"
    if found.workers:
        yield InstallationCheckResult(
            "ok", "workers", f"seen within the last minute: {len(found.workers)}; {waiting}"
        )
    else:
        text = f"no worker was seen within the last minute: start `capeval server worker`; {waiting}"
        yield InstallationCheckResult("problem", "workers", text)


def _check_site() -> Iterator[InstallationCheckResult]:
    """Request the site at its public URL, through the proxy if there is one."""
    about = settings.ADDRESS
    try:
        answer, body = _get(f"/{PATH}?question={sign_token()}")
    except (OSError, http.client.HTTPException) as error:
        yield InstallationCheckResult(
            "problem", about, f"no response ({_get_first_line(error)}): is `capeval server start` running?"
        )
        return
    problem = _find_site_problem(answer)
    if problem:
        yield InstallationCheckResult("problem", about, problem)
        return
    try:
        seen = json.loads(body)
        address = seen["address"]
    except (ValueError, KeyError, TypeError):
        yield InstallationCheckResult("problem", about, "the response is not from this server")
        return
    if address == _FORGED_ADDRESS:
        text = (
            "the proxy passes on the X-Forwarded-For header of clients, who can forge it: it must append the"
            " client's address"
        )
        yield InstallationCheckResult("problem", about, text)
    else:
        yield InstallationCheckResult("ok", about, f"it answers, and sees this machine as {address}")
    yield from _check_upload_limit()


def _find_site_problem(answer: http.client.HTTPResponse) -> str:
    if answer.status == 200:
        return ""
    if answer.status in (301, 302, 307, 308):
        to = answer.headers.get("Location", "").partition("?")[0]
        if to == f"{settings.ADDRESS}/{PATH}":
            return "it redirects to itself: the proxy must set X-Forwarded-Proto"
        return f"it redirects to {to}"
    if answer.status == 400:
        return "the server does not accept the host from the proxy: the proxy must pass on the Host header"
    if answer.status in (502, 503, 504):
        return f"{answer.status}: the proxy does not reach the server, or the server is not ready"
    return f"the status is {answer.status}: this is a different server, or its secret key is different"


def _check_upload_limit() -> Iterator[InstallationCheckResult]:
    """Check whether the proxy accepts the largest upload.

    A proxy with a lower limit responds as soon as it reads the Content-Length.
    """
    size = settings.UPLOAD_BYTES
    connected = _open_connection(_BODY_SECONDS)
    try:
        # Only upload routes accept as much, and only with a token. As long as the body is missing, a
        # well-formed token suffices.
        connected.putrequest("POST", reverse("api:submit", args=[PATH, PATH]))
        connected.putheader("Authorization", f"Bearer {PREFIX}{'x' * 43}")
        connected.putheader("Content-Length", str(size))
        connected.endheaders()
        refused = connected.getresponse().status == 413
    except (OSError, http.client.HTTPException):
        # The proxy waits for the body.
        refused = False
    finally:
        connected.close()
    if refused:
        text = f"the proxy rejects uploads of {size:,} bytes, which CAPEVAL_SERVER_UPLOAD_BYTES allows"
        yield InstallationCheckResult("problem", settings.ADDRESS, text)
    else:
        yield InstallationCheckResult("ok", settings.ADDRESS, f"uploads of {size:,} bytes are accepted")


def _get(path: str) -> tuple[http.client.HTTPResponse, bytes]:
    connected = _open_connection(_SECONDS)
    try:
        connected.request("GET", path, headers={"X-Forwarded-For": _FORGED_ADDRESS})
        answer = connected.getresponse()
        return answer, answer.read(100_000)
    finally:
        connected.close()


def _open_connection(seconds: float) -> http.client.HTTPConnection:
    parts = urlsplit(settings.ADDRESS)
    host = parts.hostname or ""
    if parts.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, parts.port, timeout=seconds, context=context)
    return http.client.HTTPConnection(host, parts.port, timeout=seconds)


def _get_first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
