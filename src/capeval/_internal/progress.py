"""How far long work is: told by what does it, heard by whoever asked to hear it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["progress_to", "report_progress"]

Listener = Callable[[str, int, int], object]
"""Called with what is done, how much of it is done, and how much there is to do."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def progress_to(listener: Listener) -> Iterator[None]:
    """Has `listener` called now and then by long work inside the `with` block, in the same thread.

    An exception that it raises ends the work.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress(work: str, done: int, total: int) -> None:
    """Tells the listener, if there is one, how far some work is."""
    listener = _listener.get()
    if listener is not None:
        listener(work, done, total)
