"""SSRF-safe outbound HTTP connections: allowed hosts with public addresses only.

Users who can enter a URL must not reach hosts that only the server can reach. The connection itself uses the
checked address, because a name can resolve to a different address a moment later.
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
    "find_url_problem",
    "is_public",
    "open_connection",
    "target_of",
]

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")


class HostUnreachableError(CapevalError, OSError):
    """Host that cannot be reached, is not allowed, or responds incorrectly."""


def find_url_problem(url: str, hosts: Sequence[str]) -> str:
    """Return the reason why a URL is not allowed, or "".

    Args:
        url: The URL.
        hosts: The hosts that the settings allow, as HOST or HOST:PORT.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "must have a host and a numeric port"
    if "@" in parts.netloc:
        return "must not contain a username"
    if (host if port is None else f"{host}:{port}") not in hosts:
        return f"must have a host that the server's settings allow: {', '.join(hosts) or 'none'}"
    return ""


def target_of(url: str) -> str:
    """Return the path and query of a URL, as in a request line."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def open_connection(url: str, seconds: float) -> PublicHTTPConnection:
    """Return a connection for a URL; it connects with the first request.

    Args:
        url: A URL that `find_url_problem` accepts.
        seconds: The timeout of connecting and of each read, in seconds.
    """
    parts = urlsplit(url)
    return KINDS[parts.scheme](parts.hostname or "", parts.port, timeout=seconds)


class PublicHTTPConnection(http.client.HTTPConnection):
    """HTTP connection without TLS, to public addresses only."""

    # The connection's socket; http.client resets `sock` while a response is still being read.
    made: socket.socket | None = None

    def connect(self) -> None:
        """Connect.

        Raises:
            OSError: An address of the host is not public, or the host cannot be reached.
        """
        self.sock = self.made = _connect(self.host, self.port, self.timeout)

    def end(self) -> None:
        """End the connection from another thread, which then reads no more data."""
        if self.made is not None:
            with suppress(OSError):
                # Shut down the socket below TLS, which the other thread is reading.
                socket.socket.shutdown(self.made, socket.SHUT_RDWR)


class PublicHTTPSConnection(PublicHTTPConnection):
    """HTTPS connection to public addresses only."""

    default_port = http.client.HTTPS_PORT

    def connect(self) -> None:
        """Connect.

        Raises:
            OSError: An address of the host is not public, or the host cannot be reached.
        """
        super().connect()
        secure = ssl.create_default_context().wrap_socket(
            self.sock, server_hostname=self.host, do_handshake_on_connect=False
        )
        self.sock = self.made = secure
        secure.do_handshake()


KINDS: dict[str, type[PublicHTTPConnection]] = {"http": PublicHTTPConnection, "https": PublicHTTPSConnection}


def _connect(host: str, port: int, seconds: float | None) -> socket.socket:
    """Connect to a host, provided that all its addresses are public.

    Raises:
        OSError: An address is not public, or the host cannot be reached.
    """
    places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    found = list(dict.fromkeys(str(place[0]) for *_, place in places))
    for address in found:
        if not is_public(address):
            raise HostUnreachableError(f"{host} must have only public addresses (got {address})")
    for address in found[:-1]:
        # IPv4 or IPv6 may be unavailable here.
        with suppress(OSError):
            return socket.create_connection((address, port), timeout=seconds)
    return socket.create_connection((found[-1], port), timeout=seconds)


def is_public(address: str) -> bool:
    """Return whether an address, and any embedded IPv4 address, is globally reachable."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv4Address):
        return ip.is_global and not ip.is_multicast
    if ip in _NAT64:
        return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
    if ip.ipv4_mapped is not None:
        return is_public(str(ip.ipv4_mapped))
    within = ip.sixtofour or (ip.teredo and ip.teredo[1])
    # All other ranges are for local use, multicast or obsolete translations of IPv4 addresses.
    return ip in _GLOBAL_UNICAST and ip.is_global and (within is None or is_public(str(within)))
