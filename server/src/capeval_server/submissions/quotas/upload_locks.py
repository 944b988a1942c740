"""Turns of uploads: one of a user at a time, and only a few are unpacked at once in all processes.

A turn is a lock of a file in the data folder. The operating system frees it when its process ends, however
it does; and all threads, all processes and both kinds of databases know it.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.contrib.auth.models import User

from capeval_server.core.errors import BusyError

__all__ = ["turn_of", "unpacking"]

Found = TypeVar("Found")
_PAUSE = 0.05


@contextmanager
def turn_of(user: User) -> Iterator[bool]:
    """The turn of a user's only upload: whether it is free. A second upload waits for it, a third does not.

    Who sends a form twice by a double click so gets the answer of the form sent first.
    """
    turn = _taken(f"upload-{user.pk}")
    if turn is None:
        waiting = _taken(f"upload-{user.pk}-next")
        if waiting is not None:
            try:
                turn = _awaited(lambda: _taken(f"upload-{user.pk}"))
            finally:
                _free(f"upload-{user.pk}-next", waiting)
    try:
        yield turn is not None
    finally:
        if turn is not None:
            _free(f"upload-{user.pk}", turn)


@contextmanager
def unpacking() -> Iterator[None]:
    """One of the few places to unpack and check an upload in.

    Raises:
        BusyError: None became free for a while.
    """
    names = [f"unpacking-{place}" for place in range(settings.UNPACKED_AT_ONCE)]

    def any_free() -> tuple[str, int] | None:
        for name in names:
            descriptor = _taken(name)
            if descriptor is not None:
                return name, descriptor
        return None

    found = _awaited(any_free)
    if found is None:
        raise BusyError
    try:
        yield
    finally:
        _free(*found)


def _awaited(take: Callable[[], Found | None]) -> Found | None:
    """What could be taken in the time that an upload may wait; none if nothing could."""
    end = time.monotonic() + settings.TURN_SECONDS
    while (found := take()) is None and time.monotonic() < end:
        time.sleep(_PAUSE)
    return found


def _place(name: str) -> Path:
    folder = Path(settings.DATA) / "turns"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / name


def _taken(name: str) -> int | None:
    """The descriptor of the file of a turn, now locked; none if somebody else has it."""
    path = _place(name)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Who had it before may have deleted the file: a lock of a file without a name holds nobody off.
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _free(name: str, descriptor: int) -> None:
    _place(name).unlink(missing_ok=True)
    os.close(descriptor)
