"""Fixed clock and seeded random numbers, for reproducible recordings."""

from __future__ import annotations

import os
import random
import socket
import time
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

__all__ = ["Clock", "fix_clock", "reseed"]

_BEGINNING = datetime(2026, 1, 1, 9, 30, tzinfo=UTC)

_getaddrinfo = socket.getaddrinfo
_streams: dict[int, random.Random] = {}
_seed = ""


class Clock:
    """Time of this process, which changes only with `move`."""

    def __init__(self) -> None:
        self.now = _BEGINNING

    def move(self, **by: float) -> None:
        """Move the clock by a `timedelta` with these arguments."""
        self.now += timedelta(**by)


def fix_clock() -> Clock:
    """Replace the clock, random numbers, host name and network of this process.

    Call it before Django and the project are imported, because they keep references to these functions.
    """
    clock = Clock()
    vars(time)["time"] = lambda: clock.now.timestamp()
    vars(time)["time_ns"] = lambda: int(clock.now.timestamp()) * 10**9
    vars(socket)["gethostname"] = lambda: "host"
    vars(socket)["getaddrinfo"] = _resolve_local
    vars(os)["urandom"] = vars(random)["_urandom"] = _draw_bytes
    from django.utils import timezone

    vars(timezone)["now"] = lambda: clock.now
    reseed("")
    return clock


def _resolve_local(host: Any, *arguments: Any, **options: Any) -> Any:
    """Resolve only the local host, so that recordings do not depend on a network."""
    if host in ("127.0.0.1", "localhost"):
        return _getaddrinfo("127.0.0.1", *arguments, **options)
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def reseed(name: str) -> None:
    """Reseed all random numbers, so that a step is independent of earlier steps."""
    global _seed
    _seed = name
    _streams.clear()
    random.seed(name)


def _draw_bytes(size: int, /) -> Any:
    # One stream per size, so that ids (16 bytes) do not depend on the number of row versions (8 bytes) drawn
    # before, which varies with the duration of scoring.
    if size not in _streams:
        _streams[size] = random.Random(int.from_bytes(sha256(f"{_seed} {size}".encode()).digest()))
    return _streams[size].randbytes(size)
