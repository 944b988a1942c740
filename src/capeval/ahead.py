"""Imports numpy, which scoring needs, while a large file is read: reading leaves Python to other threads."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

__all__ = ["importing_numpy"]

# Reading so many bytes takes a tenth of the time that importing numpy does.
_LARGE = 2**21

# The threads that numpy's OpenBLAS starts look for work for 2**26 cycles before they sleep: as long as a file
# takes to read, on the processor that would import. With this they sleep after a millisecond.
_WAIT, _CYCLES = "OPENBLAS_THREAD_TIMEOUT", "22"


@contextmanager
def importing_numpy(file: str | Path | bytes) -> Iterator[None]:
    """Imports numpy beside the reading of a file in the body, if it is large and numpy is not there yet.

    When the body ends, the import has ended too: a process that forks then has no thread that imports.

    Args:
        file: The path of the file, or its bytes.
    """
    if "numpy" in sys.modules or _size(file) < _LARGE:
        yield
        return
    from threading import Thread

    thread = Thread(target=_import_numpy, daemon=True)
    with _sleeping_early():
        try:
            thread.start()
        except RuntimeError:
            # No thread may be started here: numpy is imported later.
            yield
            return
        try:
            yield
        finally:
            thread.join()


def _size(file: str | Path | bytes) -> int:
    if isinstance(file, bytes):
        return len(file)
    # Reading the file says why it can't be read.
    with suppress(OSError, ValueError):
        return Path(file).stat().st_size
    return 0


def _import_numpy() -> None:
    # Where it can't be imported, whoever uses it says so.
    with suppress(Exception):
        import_module("numpy")


@contextmanager
def _sleeping_early() -> Iterator[None]:
    """The threads of an OpenBLAS that is loaded meanwhile sleep early, for as long as the process lives."""
    if _WAIT in os.environ:
        yield
        return
    os.environ[_WAIT] = _CYCLES
    try:
        yield
    finally:
        os.environ.pop(_WAIT, None)
