"""Limit of anonymous reads per network address, for all processes of the server together."""

from __future__ import annotations

import ipaddress
import math
import mmap
import secrets
import time
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

from capeval_server.accounts.models import Token

__all__ = ["LIMIT", "ReadLimit", "ReadLimitMiddleware", "client_network", "without_read_limit"]

View = TypeVar("View", bound=Callable[..., Any])
_SECONDS = 60.0
# Clients that share a slot share its limit; the keyed hash prevents that clients choose a slot.
_SLOTS = 2**18
_IPV6_PREFIX = 64


class ReadLimit:
    """Rate limit in memory that forked processes share: the generic cell rate algorithm (GCRA).

    For each client, it stores the time until which its past requests would take if they were spread evenly.
    Processes update the times without a lock, so that simultaneous requests may count once.
    """

    def __init__(self, slots: int = _SLOTS) -> None:
        self._slots = slots
        self._times = memoryview(mmap.mmap(-1, 8 * slots)).cast("d")
        self._key = secrets.token_bytes(16)

    def count(self, client: str, per_minute: int, now: float) -> float:
        """Count a request; return the seconds until it is allowed, or 0 if it is allowed now.

        Args:
            client: The client.
            per_minute: The number of requests per minute, which may also come at once.
            now: The time in seconds.
        """
        digest = blake2b(client.encode(), key=self._key, digest_size=8).digest()
        slot = int.from_bytes(digest) % self._slots
        interval = _SECONDS / per_minute
        due = max(self._times[slot], now)
        wait = due + interval - now - _SECONDS
        # The tolerance is for sums of rounded intervals.
        if wait > interval / 2:
            return wait
        self._times[slot] = due + interval
        return 0.0


# Created before the server forks its processes.
LIMIT = ReadLimit()


def without_read_limit(view: View) -> View:
    """Mark a view for known clients only, such as annotators with a link. Its requests are not limited."""
    view.without_read_limit = True  # type: ignore[attr-defined]
    return view


def client_network(address: str) -> str:
    """Return the network that counts as one client: an IPv4 address, or the /64 of an IPv6 address."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network((int(ip), _IPV6_PREFIX), strict=False))


class ReadLimitMiddleware:
    """Middleware that limits the GET and HEAD requests of each client without an account.

    It must follow the middleware that sets `request.user`.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Return the response."""
        return self._get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], _: tuple[Any, ...], __: dict[str, Any]
    ) -> HttpResponse | None:
        """Return the response to a request above the limit, or None for all others."""
        per_minute: int = settings.ANONYMOUS_READS
        if not per_minute or request.method not in ("GET", "HEAD"):
            return None
        if getattr(view, "without_read_limit", False) or request.user.is_authenticated:
            return None
        client = client_network(request.META.get("REMOTE_ADDR", ""))
        wait = LIMIT.count(client, per_minute, time.monotonic())
        return _refuse(request, wait) if wait and not _has_token(request) else None


def _has_token(request: HttpRequest) -> bool:
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    return kind.lower() == "bearer" and Token.is_well_formed(text) and Token.of_text(text) is not None


def _refuse(request: HttpRequest, wait: float) -> HttpResponse:
    headers = {"Retry-After": str(math.ceil(wait)), "Cache-Control": "no-store"}
    if request.path.startswith("/api/"):
        text = "too many requests from this network address: try again later, or send an API token"
        return JsonResponse({"detail": text}, status=429, headers=headers)
    page = render_to_string("429.html", {"anonymous": True}, request=request)
    return HttpResponse(page, status=429, headers=headers)
