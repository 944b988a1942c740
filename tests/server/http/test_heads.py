"""Responses to HEAD: the headers of GET, no body, and a connection that can be used again."""

from __future__ import annotations

import http.client
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from email.message import Message
from typing import Any

import pytest
import waitress
from waitress.server import TcpWSGIServer

from capeval_server.api.root import api
from capeval_server.config.wsgi import without_bodies
from capeval_server.http.channels import Channel
from tests.server.processes import Server
from tests.waiting import PATIENCE, wait_until

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ORGANIZER = """
import base64
from django.contrib.auth.models import User
from capeval_server.accounts.models import Token
from capeval_server.challenges.models import Challenge
from capeval_server.hosting.services import pictures
user = User.objects.create(username="olga", is_staff=True)
pictures.add(user, Challenge.objects.get(), "dot.png", base64.b64decode(sys.argv[1]))
print(Token.issue(user.pk, "token", "organize"))
"""
BREAK = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("ALTER TABLE challenges_phase RENAME TO gone")
"""


def head(port: int, path: str, *lines: str, next_path: str = "/healthz") -> tuple[int, Message]:
    """Send HEAD, check that no body follows, and that the next response on the connection is whole."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client, client.makefile("rb") as answers:
        request = "\r\n".join([f"HEAD {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", *lines])
        client.sendall(f"{request}\r\n\r\n".encode())
        status, headers = _headers(answers)
        if headers.get("Connection", "").lower() != "close":
            client.sendall(
                f"GET {next_path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
            )
            assert _headers(answers)[0] == 200
        else:
            assert answers.read() == b""
        return status, headers


def _headers(answers: Any) -> tuple[int, Message]:
    line = answers.readline().decode()
    found = re.fullmatch(r"HTTP/1\.[01] (\d{3}) .*\r\n", line)
    assert found, line
    return int(found[1]), http.client.parse_headers(answers)


@pytest.fixture
def prepared(fresh: Server) -> tuple[Server, str]:
    """A server that runs, with a picture; and the token of an organizer."""
    fresh.env["CAPEVAL_SERVER_METRICS"] = "a-token-of-this-test"
    fresh.prepare()
    token = fresh.python(ORGANIZER, PNG).strip()
    fresh.start(processes=1)
    return fresh, token


PUBLIC = {
    "/": 200,
    "/small/": 200,
    "/small/open/": 200,
    "/small/open/?format=csv": 200,
    "/small/kit.zip": 200,
    "/small/pictures/dot.png": 200,
    "/jobs": 301,
    "/accounts/profile/": 302,
    "/accounts/login/": 200,
    "/nothing/": 404,
    "/static/capeval/site.css": 200,
    "/static/nothing.css": 404,
    "/healthz": 200,
    "/readyz": 200,
    "/metrics": 401,
    "/api/challenges": 200,
    "/api/challenges/nothing": 404,
    "/api/challenges/small": 200,
    "/api/challenges/small/phases/open/leaderboard": 200,
    "/api/challenges/small/phases/open/leaderboard?split=none": 404,
    "/api/jobs": 200,
    "/api/submissions": 401,
    "/api/openapi.json": 200,
    "/api/docs": 200,
    "/api/nothing": 404,
}


def test_public_pages_and_operations_have_no_body(prepared: tuple[Server, str]) -> None:
    server, _ = prepared
    for path, expected in PUBLIC.items():
        got = server.client.get(server.root + path)
        status, headers = head(server.port, path)
        assert (path, status, got.status_code) == (path, expected, expected)
        # Tokens of forms differ, but not in length.
        assert int(headers["Content-Length"]) == len(got.content), path
        assert headers["Content-Type"] == got.headers["Content-Type"], path


def test_errors_have_no_body(prepared: tuple[Server, str]) -> None:
    server, _ = prepared
    # Just as long as is refused: what is left when the server closes the connection would reset it.
    start = f"HEAD / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Long: \r\n\r\n"
    long = "a" * (32 * 1024 - len(start))
    refused = {
        ("/", f"Content-Length: {2**40}"): 413,
        ("/api/challenges", f"Content-Length: {2**40}"): 413,
        ("/", f"X-Long: {long}"): 431,
        ("/", "not a header"): 400,
        ("/", "Host: other.example"): 400,
        ("/", "Transfer-Encoding: gzip"): 501,
        ("/annotate/a/agree/", "X-A: a"): 405,
        ("/api/token", "X-A: a"): 405,
    }
    for (path, line), expected in refused.items():
        assert (path, line[:20], head(server.port, path, line)[0]) == (path, line[:20], expected)
    server.python(BREAK)
    assert head(server.port, "/small/open/", "X-A: a")[0] in (500, 503)
    assert head(server.port, "/api/challenges/small", "X-A: a")[0] in (500, 503)


def test_downloads_have_no_body(prepared: tuple[Server, str]) -> None:
    server, token = prepared
    authorized = {"Authorization": f"Bearer {token}"}
    place = "/api/challenges/small/organize/export"
    server.spawn("worker")
    assert server.client.post(server.root + place, headers=authorized).status_code == 202
    got = wait_until(
        lambda: (
            found
            if (found := server.client.get(server.root + place, headers=authorized)).status_code == 200
            else None
        ),
        lambda: server.log,
    )
    size = got.headers["Content-Length"]
    line = f"Authorization: Bearer {token}"
    assert head(server.port, place, line)[1]["Content-Length"] == size
    # Range requests work only with GET.
    status, headers = head(server.port, place, line, "Range: bytes=10-20")
    assert (status, headers["Content-Length"]) == (200, size)
    part = server.client.get(server.root + place, headers={**authorized, "Range": "bytes=10-20"})
    assert (part.status_code, part.content) == (206, got.content[10:21])
    # The zip of a kit is as large when it is made again.
    assert head(server.port, "/small/kit.zip", "Range: bytes=0-9")[0] == 200


def test_operations_that_answer_get_allow_head(prepared: tuple[Server, str]) -> None:
    server, _ = prepared
    answer = server.client.put(f"{server.address}/challenges")
    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD"}


def test_the_description_of_the_api_has_no_head() -> None:
    assert not any("head" in operations for operations in api.get_openapi_schema()["paths"].values())


@contextmanager
def serving(application: Callable[..., Iterable[bytes]]) -> Iterator[int]:
    """Serve an application in the same way as the server's own; yield its port."""
    server = waitress.create_server(
        application,
        host="127.0.0.1",
        port=0,
        trusted_proxy="*",
        trusted_proxy_headers="x-forwarded-for",
    )
    assert isinstance(server, TcpWSGIServer)
    server.channel_class = Channel
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield int(server.effective_port)
    finally:
        # In the thread that serves, which ends when the last connection is closed.
        server.trigger.pull_trigger(server.close)
        thread.join()


def test_an_error_that_nobody_handles_has_no_body() -> None:
    def broken(*_: object) -> list[bytes]:
        raise RuntimeError("broken")

    with serving(broken) as port:
        assert head(port, "/")[0] == 500
        assert head(port, "/api/challenges")[0] == 500


def test_responses_of_waitress_itself_have_no_body() -> None:
    def fine(environ: Any, start: Any) -> list[bytes]:
        start("200 OK", [])
        return [b"body"]

    with serving(fine) as port:
        assert head(port, "/", 'X-Forwarded-For: "a', "Connection: close")[0] == 400


def test_the_body_of_a_response_to_head_is_closed_and_measured() -> None:
    closed = []

    class Body:
        def __init__(self, length: str) -> None:
            self.length = length

        def __iter__(self) -> Iterator[bytes]:
            yield b"some"
            yield b"thing"

        def close(self) -> None:
            closed.append(self.length)

    def application(environ: Any, start: Any) -> Body:
        length = environ["PATH_INFO"].strip("/")
        start("200 OK", [("Content-Length", length)] if length else [])
        return Body(length)

    with serving(without_bodies(application)) as port:
        assert head(port, "/", next_path="/9")[1]["Content-Length"] == "9"
        assert head(port, "/12", next_path="/9")[1]["Content-Length"] == "12"
    assert set(closed) == {"", "12", "9"}
