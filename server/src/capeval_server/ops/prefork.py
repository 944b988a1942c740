"""Pre-fork server: several processes on shared sockets, to use all processors."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress

__all__ = ["in_processes"]

# Minimum pause between restarts of processes, in seconds.
_PAUSE_SECONDS = 1.0


def in_processes(number: int, serve: Callable[[], None]) -> None:
    """Serve in several processes until this one is stopped; restart those that end.

    Call this before creating threads or connections, which processes can't share. When this process ends, for
    whatever reason, the others end too.

    Args:
        number: The number of processes; with 1, this process serves itself.
        serve: Serves until it is interrupted.
    """
    if number == 1:
        serve()
        return
    # Nothing is ever written to the pipe: readers see its end when the last writer, this process, ends.
    reader, writer = os.pipe()
    running: set[int] = set()
    try:
        while True:
            while len(running) < number:
                running.add(_start_process(serve, reader, writer))
            ended, _ = os.wait()
            if ended in running:
                running.remove(ended)
                time.sleep(_PAUSE_SECONDS)
    except KeyboardInterrupt:
        # The terminal sends Ctrl-C to all processes.
        pass
    finally:
        _stop_processes(running)
        os.close(reader)
        os.close(writer)


def _start_process(serve: Callable[[], None], reader: int, writer: int) -> int:
    # Exceptions of a signal handler during a fork are lost, so stop signals are blocked until its end.
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
        threading.Thread(target=_exit_with_parent, args=(reader,), daemon=True).start()
        serve()
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        # Skips the exit handlers and cleanup of the first process.
        os._exit(status)


def _exit_with_parent(reader: int) -> None:
    """End this process as soon as the first one has ended."""
    os.read(reader, 1)
    os._exit(1)


def _stop_processes(running: set[int]) -> None:
    """Stop processes. A signal may have ended some of them too, as systemd sends it to all."""
    for process in running:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
    for process in running:
        with suppress(ChildProcessError):
            os.waitpid(process, 0)
