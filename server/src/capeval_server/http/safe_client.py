"""Connections to other hosts: the settings list them, and their addresses must be public.

Who can enter an address must not reach what only the server can. An address is checked of the very connection
that is then made, as a name can stand for another address a moment later.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from capeval.errors import CapevalError

__all__ = [
    "KINDS",
    "HostUnreachableError",
    "PublicHTTPConnection",
    "PublicHTTPSConnection",
    "is_public",
    "opened",
    "problem_of",
    "target_of",
]

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class HostUnreachableError(CapevalError, OSError):
    """A host can't be reached, must not be, or does not answer as it should."""


def problem_of(url: str, hosts: Sequence[str]) -> str:
    """Why an address can't be connected to; empty if it can.

    Args:
        url: The address.
        hosts: The hosts that the settings allow, as HOST or HOST:PORT.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "must have a host, and a port that is a number"
    if "@" in parts.netloc:
        return "must not have a name to sign in with"
    if (host if port is None else f"{host}:{port}") not in hosts:
        return f"must be of a host that the server's settings allow: {', '.join(hosts) or 'none'}"
    return ""


def target_of(url: str) -> str:
    """The path and the query of an address, as a request has them."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def opened(url: str, seconds: float) -> PublicHTTPConnection:
    """A connection for an address, which connects when it is first asked something.

    Args:
        url: The address, which `problem_of` finds nothing wrong with.
        seconds: How long connecting, and each wait for the other side, may last.
    """
    parts = urlsplit(url)
    return KINDS[parts.scheme](parts.hostname or "", parts.port, timeout=seconds)


class PublicHTTPConnection(http.client.HTTPConnection):
    """A connection without TLS to public addresses alone."""

    # The connection's socket: `sock` is forgotten while an answer is still read from it.
    made: socket.socket | None = None

    def connect(self) -> None:
        """Connects. Raises an `OSError` where an address is not public."""
        self.sock = self.made = _connected(self.host, self.port, self.timeout)

    def end(self) -> None:
        """Ends the connection, from another thread: who reads from it gets no more."""
        if self.made is not None:
            with suppress(OSError):
                # Of the socket below TLS, which the other thread is reading.
                socket.socket.shutdown(self.made, socket.SHUT_RDWR)


class PublicHTTPSConnection(PublicHTTPConnection):
    """A connection with TLS to public addresses alone."""

    default_port = http.client.HTTPS_PORT

    def connect(self) -> None:
        """Connects. Raises an `OSError` where an address is not public."""
        super().connect()
        secure = ssl.create_default_context().wrap_socket(
            self.sock, server_hostname=self.host, do_handshake_on_connect=False
        )
        self.sock = self.made = secure
        secure.do_handshake()


KINDS: dict[str, type[PublicHTTPConnection]] = {"http": PublicHTTPConnection, "https": PublicHTTPSConnection}


def _connected(host: str, port: int, seconds: float | None) -> socket.socket:
    """A connection to a host whose addresses are all public.

    Raises:
        OSError: One is not, or it can't be reached.
    """
    places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    found = list(dict.fromkeys(str(place[0]) for *_, place in places))
    for address in found:
        if not is_public(address):
            raise HostUnreachableError(f"{host} must have public addresses alone (got {address})")
    for address in found[:-1]:
        # One of the two kinds of addresses may not be reached from here.
        with suppress(OSError):
            return socket.create_connection((address, port), timeout=seconds)
    return socket.create_connection((found[-1], port), timeout=seconds)


def is_public(address: str) -> bool:
    """Whether everybody can reach an address; also of one within another one."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    within = None
    if isinstance(ip, ipaddress.IPv6Address):
        within = ip.ipv4_mapped or ip.sixtofour or (ip.teredo and ip.teredo[1])
        if ip in _NAT64:
            within = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return all(one.is_global and not one.is_multicast for one in (ip, within) if one is not None)
