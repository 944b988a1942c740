"""Imports what scoring needs while large files are read: reading leaves Python to other threads."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

__all__ = ["beside_candidates", "beside_references", "importing"]

# Reading so many bytes takes a tenth of the time that importing numpy does.
_LARGE = 2**21

# The threads that numpy's OpenBLAS starts look for work for 2**26 cycles before they sleep: as long as a file
# takes to read, on the processor that would import. With this they sleep after a millisecond.
_WAIT, _CYCLES = "OPENBLAS_THREAD_TIMEOUT", "22"


def beside_references() -> tuple[str, ...]:
    """The names of what is imported beside the reading of references, which takes about as long."""
    return "numpy", "capeval.tokenization", "capeval.resources"


def beside_candidates() -> tuple[str, ...]:
    """The names of what is imported beside the reading of candidates.

    There are none before numpy is imported: a process that reads no references may score nothing.
    """
    return ("capeval.evaluation",) if "numpy" in sys.modules else ()


@contextmanager
def importing(modules: Sequence[str], file: str | Path | bytes) -> Iterator[None]:
    """Imports modules beside the reading of a file in the body, if it is large and they are not there yet.

    When the body ends, these imports have ended too: a process that forks then has no thread that imports.

    Args:
        modules: Their names, in the order in which they are imported.
        file: The path of the file, or its bytes.
    """
    missing = [module for module in modules if module not in sys.modules]
    if not missing or _size(file) < _LARGE:
        yield
        return
    from threading import Thread

    thread = Thread(target=_import, args=(missing,), daemon=True)
    with _sleeping_early():
        try:
            thread.start()
        except RuntimeError:
            # No thread may be started here: the modules are imported later.
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


def _import(modules: Sequence[str]) -> None:
    # Where one can't be imported, whoever uses it says so.
    with suppress(Exception):
        for module in modules:
            import_module(module)


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
