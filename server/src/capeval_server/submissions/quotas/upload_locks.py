"""Upload concurrency limits, by file locks.

Each user has one upload at a time, and all processes together check only a few. A lock is a lock of a file in
the data folder. The operating system releases it when its process ends, for whatever reason. It applies to
all threads, processes and database types.
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

__all__ = ["acquire_unpacking_slot", "lock_user_uploads"]

Found = TypeVar("Found")
_PAUSE = 0.05


@contextmanager
def lock_user_uploads(user: User) -> Iterator[bool]:
    """Lock the uploads of a user, and yield whether the lock was acquired.

    A second upload waits for the lock, a third does not. After a double click on a form, the second request
    therefore returns the result of the first.
    """
    turn = _try_lock(f"upload-{user.pk}")
    if turn is None:
        waiting = _try_lock(f"upload-{user.pk}-next")
        if waiting is not None:
            try:
                turn = _wait_for(lambda: _try_lock(f"upload-{user.pk}"))
            finally:
                _release(f"upload-{user.pk}-next", waiting)
    try:
        yield turn is not None
    finally:
        if turn is not None:
            _release(f"upload-{user.pk}", turn)


@contextmanager
def acquire_unpacking_slot() -> Iterator[None]:
    """Hold one of the few slots for unpacking and checking an upload.

    Raises:
        BusyError: No slot became free in time.
    """
    names = [f"unpacking-{place}" for place in range(settings.UNPACKED_AT_ONCE)]

    def any_free() -> tuple[str, int] | None:
        for name in names:
            descriptor = _try_lock(name)
            if descriptor is not None:
                return name, descriptor
        return None

    found = _wait_for(any_free)
    if found is None:
        raise BusyError
    try:
        yield
    finally:
        _release(*found)


def _wait_for(take: Callable[[], Found | None]) -> Found | None:
    """Retry until something is acquired; return None after an upload's maximum wait."""
    end = time.monotonic() + settings.TURN_SECONDS
    while (found := take()) is None and time.monotonic() < end:
        time.sleep(_PAUSE)
    return found


def _get_path(name: str) -> Path:
    folder = Path(settings.DATA) / "turns"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / name


def _try_lock(name: str) -> int | None:
    """Lock a file and return its descriptor, or None if the lock is held elsewhere."""
    path = _get_path(name)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The previous holder may have deleted the file; a lock of a deleted file has no effect.
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _release(name: str, descriptor: int) -> None:
    _get_path(name).unlink(missing_ok=True)
    os.close(descriptor)
