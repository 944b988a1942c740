"""Clients that send slowly, or not at all, and keep others from nothing."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from tests.server.processes import Server

MANY = 200


def test_many_unfinished_requests_keep_nobody_out(fresh: Server) -> None:
    fresh.run("migrate")
    fresh.start()
    with ExitStack() as opened:
        for number in range(MANY):
            client = opened.enter_context(socket.create_connection(("127.0.0.1", fresh.port)))
            start = "GET / HTTP/1.1\r\n" if number % 2 else "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\na"
            client.sendall(start.encode())
        assert fresh.client.get(f"{fresh.root}/healthz").status_code == 200


def test_headers_have_a_limit(fresh: Server) -> None:
    fresh.run("migrate")
    fresh.start()
    answer = fresh.client.get(f"{fresh.root}/healthz", headers={"X-Long": "a" * 40_000})
    assert answer.status_code == 431
