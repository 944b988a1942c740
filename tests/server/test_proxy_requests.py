"""Requests through nginx and Caddy: HEAD, framing of bodies, other hosts, and bodies of unknown size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress

import httpx
import pytest

from tests.server.processes import Server
from tests.server.proxies import PROXIES, Proxy, client_of, connection_of
from tests.waiting import PATIENCE

HEADS = ("/", "/small/open/", "/small/kit.zip", "/api/challenges", "/nothing/at/all/", "/accounts/login/")


def check_connections(proxy: Proxy) -> None:
    """Check that responses to HEAD and GET on one connection, and on others, are those of their requests."""
    with closing(connection_of(proxy)) as client:
        for path in HEADS:
            client.request("HEAD", path)
            answer = client.getresponse()
            assert answer.status == (404 if "nothing" in path else 200), path
            assert answer.read() == b""
            client.request("GET", "/healthz")
            assert client.getresponse().read() == b"the server runs\n", path


@pytest.mark.parametrize("name", PROXIES)
def test_heads_have_no_body(fresh: Server, name: str) -> None:
    with PROXIES[name](fresh, processes=1) as proxy:
        # Caddy reuses its connections to the server.
        for _ in range(3):
            check_connections(proxy)
        assert "Unsolicited response" not in "".join(log.read_text() for log in proxy.logs if log.exists())


# A second request that a server would see if it read the first one differently from the proxy.
HIDDEN = b"GET /reached HTTP/1.1\r\nHost: localhost\r\nX-A: "


FRAMINGS = {
    "length and chunks": (b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + HIDDEN),
    "two lengths": (b"Content-Length: 0\r\nContent-Length: %d\r\n", HIDDEN),
    "signed length": (b"Content-Length: +%d\r\n", HIDDEN),
    "other coding": (b"Content-Length: %d\r\nTransfer-Encoding: xchunked\r\n", b"0\r\n\r\n" + HIDDEN),
    "space in the name": (b"Content-Length : %d\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + HIDDEN),
    "line feed": (b"X-A: a\nTransfer-Encoding: chunked\r\nContent-Length: %d\r\n", b"0\r\n\r\n" + HIDDEN),
    "chunk extension": (b"Transfer-Encoding: chunked\r\nX-B: %d\r\n", b"0;\n\r\n\r\n" + HIDDEN),
}


@pytest.mark.parametrize("name", PROXIES)
def test_ambiguous_requests_change_no_response_of_others(fresh: Server, name: str) -> None:
    with PROXIES[name](fresh, processes=1) as proxy:
        for framing, (headers, body) in FRAMINGS.items():
            with closing(connection_of(proxy)) as client:
                client.connect()
                url = httpx.URL(proxy.site)
                head = f"POST /accounts/login/ HTTP/1.1\r\nHost: {url.netloc.decode()}\r\n".encode()
                client.sock.sendall(head + headers % len(body) + b"\r\n" + body)
                first = client.sock.recv(65536).split(b"\r\n", 1)[0]
            # Refused, or read in one way: a form without its CSRF token.
            assert not first or first.split()[1] in (b"400", b"403", b"411", b"413", b"501"), (framing, first)
            check_connections(proxy)
        # Nothing reached the server with the beginning of another request as its header.
        assert "Bad request syntax" not in fresh.log


@pytest.mark.parametrize("name", PROXIES)
def test_other_hosts_get_nothing_of_the_site(fresh: Server, name: str) -> None:
    with PROXIES[name](fresh, processes=1) as proxy, client_of(proxy) as client:
        for path in ("/", "/accounts/login/", "/accounts/password/reset/"):
            answer = client.get(path, headers={"Host": "evil.example"})
            assert answer.status_code in (200, 400, 421), answer.status_code
            assert answer.status_code != 200 or not answer.content
            assert "evil.example" not in answer.text + str(answer.headers.get("Location"))
            answer = client.get(path, headers={"X-Forwarded-Host": "evil.example"})
            assert answer.status_code == 200
            assert "evil.example" not in answer.text
        # The port without TLS leads to the site only. Caddy leads to the requested host, which only the
        # sender of the header sees.
        with httpx.Client(timeout=PATIENCE) as plain:
            answer = plain.get(f"http://localhost:{proxy.plain}/jobs/", headers={"Host": "evil.example"})
        assert name != "nginx" or "evil.example" not in answer.headers.get("Location", "")


@pytest.mark.parametrize("name", PROXIES)
def test_bodies_of_unknown_size_have_a_limit(fresh: Server, name: str) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(40):
            yield b"x" * 2**16

    with PROXIES[name](fresh, processes=1) as proxy, client_of(proxy) as client:
        with suppress(httpx.WriteError, httpx.RemoteProtocolError):
            assert client.post("/accounts/login/", content=endless()).status_code == 413
        assert client.get("/healthz").status_code == 200
