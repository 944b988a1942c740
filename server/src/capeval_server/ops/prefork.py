"""Several processes that answer requests at the same sockets: one alone uses one processor."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable

__all__ = ["in_processes", "processors"]

# A process that ends is started again, but not more often than this.
_PAUSE_SECONDS = 1.0


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_processes(number: int, serve: Callable[[], None]) -> None:
    """Has so many processes serve, until this one is stopped; one that ends is started again.

    Call it before there are threads or connections, which processes can't share. When this process ends, in
    whatever way, so do the others.

    Args:
        number: How many; one serves in this process itself.
        serve: Serves until it is interrupted.
    """
    if number == 1:
        serve()
        return
    # Nothing is ever written: who reads is told when the last writer, which is this process, ends.
    reader, writer = os.pipe()
    running: set[int] = set()
    try:
        while True:
            while len(running) < number:
                running.add(_started(serve, reader, writer))
            ended, _ = os.wait()
            if ended in running:
                running.remove(ended)
                time.sleep(_PAUSE_SECONDS)
    except KeyboardInterrupt:
        # Ctrl-C is for all processes of the terminal.
        pass
    finally:
        _stop(running)
        os.close(reader)
        os.close(writer)


def _started(serve: Callable[[], None], reader: int, writer: int) -> int:
    """Starts a process that serves."""
    # What a handler raises in the middle of a fork is lost: a signal that says to stop waits for its end.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    started = -1
    try:
        started = os.fork()
    finally:
        if started:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if started:
        return started
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(writer)
        threading.Thread(target=_end_with, args=(reader,), daemon=True).start()
        serve()
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        # Without what the first process does at its end.
        os._exit(status)


def _end_with(reader: int) -> None:
    """Ends this process as soon as the first one has ended."""
    os.read(reader, 1)
    os._exit(1)


def _stop(running: set[int]) -> None:
    for process in running:
        os.kill(process, signal.SIGTERM)
    for process in running:
        os.waitpid(process, 0)
