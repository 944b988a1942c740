"""Clients that send slowly, or not at all, and keep others from nothing."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import ExitStack

import httpx
import pytest
import waitress
from waitress.channel import HTTPChannel

from capeval_server.http.payload_too_large import RefusalTask
from tests.server.pages import check_page
from tests.server.processes import Server

MANY = 200


def test_many_unfinished_requests_keep_nobody_out(fresh: Server) -> None:
    fresh.migrate()
    fresh.start()
    with ExitStack() as opened:
        for number in range(MANY):
            client = opened.enter_context(socket.create_connection(("127.0.0.1", fresh.port)))
            start = "GET / HTTP/1.1\r\n" if number % 2 else "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\na"
            client.sendall(start.encode())
        assert fresh.client.get(f"{fresh.root}/healthz").status_code == 200


def _refused(server: Server, path: str, line: str = "X-A: a") -> tuple[str, str]:
    """Return the headers and content of the response to a request that declares a huge body."""
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(f"POST {path} HTTP/1.1\r\n{line}\r\nContent-Length: {2**40}\r\n\r\n".encode())
        with client.makefile("rb") as answer:
            headers, _, content = answer.read().decode().partition("\r\n\r\n")
    assert headers.startswith("HTTP/1.1 413 ")
    return headers, content


def test_headers_and_requests_have_a_limit(fresh: Server) -> None:
    fresh.migrate()
    fresh.env["CAPEVAL_SERVER_UPLOAD_BYTES"] = "1000000"
    fresh.start()
    answer = fresh.client.get(f"{fresh.root}/healthz", headers={"X-Long": "a" * 40_000})
    assert answer.status_code == 431
    headers, page = _refused(fresh, "/new/form/", f"Cookie: sessionid={'a1' * 16}")
    policy = re.search("Content-Security-Policy: (.*)\r\n", headers)
    assert policy
    check_page(page, policy[1])
    assert "A request to this page may have at most 1,000,000 bytes" in page
    # Programs get a line of text.
    _, text = _refused(fresh, "/api/challenges/small/phases/open/submissions")
    assert text.startswith("Request Entity Too Large")


def test_an_error_that_nobody_handles_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[bytes]:
        raise RuntimeError("broken")

    monkeypatch.setattr(HTTPChannel, "error_task_class", RefusalTask)
    server = waitress.create_server(broken, host="127.0.0.1", port=0)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.effective_port}"
        assert [httpx.get(address + path).status_code for path in ("/", "/api/challenges")] == [500, 500]
    finally:
        # In the thread that serves: closing its sockets in another one would make it fail.
        server.trigger.pull_trigger(server.close)
    thread.join()
