"""Progress callbacks for long-running work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["report_progress", "send_progress_to"]

Listener = Callable[[str, float, int], object]
"""A callback with the name of the work, the amount done and the total amount."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def send_progress_to(listener: Listener) -> Iterator[None]:
    """Send the progress of work inside the `with` block to `listener`.

    Only work in the same thread reports to it. An exception that `listener` raises ends the work.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress(work: str, done: float, total: int) -> None:
    """Report progress to the listener, if there is one.

    Args:
        work: The name of the work.
        done: The amount done, with a fraction for what is in progress.
        total: The total amount.
    """
    listener = _listener.get()
    if listener is not None:
        listener(work, done, total)
