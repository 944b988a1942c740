"""Atomic file writes."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["add_path_to_errors", "atomic_write", "check_writable"]


@contextmanager
def atomic_write(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` when it is complete.

    Until then, or if writing fails, an existing file at `path` remains unchanged. If `path` is not a regular
    file but a pipe or a terminal, it is written to directly.

    Raises:
        OSError: The folder does not exist or is not writable, a link points to itself, or the disk is full.
            The error names `path`.
    """
    path = Path(path)
    with add_path_to_errors(path), _open_replacement(path) as file:
        yield file


@contextmanager
def add_path_to_errors(name: str | Path) -> Iterator[None]:
    """Add a file's name to errors of writing to it that lack one, such as a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(name)) from None


@contextmanager
def _open_replacement(path: Path) -> Iterator[IO[bytes]]:
    from tempfile import mkstemp

    mode = _get_mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        # A terminal, a pipe or /dev/null can be written to but not replaced.
        with path.open("wb") as file:
            yield file
        return
    # A symbolic link remains a link; its target is replaced.
    path = path.resolve()
    # A file can only be replaced atomically by one on the same file system.
    try:
        descriptor, name = mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except FileNotFoundError:
        raise _make_folder_error(path) from None
    except OSError as error:
        # The error names the file that the caller asked for, not the temporary one.
        raise OSError(error.errno, error.strerror, str(path)) from None
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.chmod(_get_permissions(mode))
        _replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _replace(unfinished: Path, path: Path) -> None:
    try:
        unfinished.replace(path)
    except OSError as error:
        # On Windows, a file that a program has open or maps into memory can't be replaced.
        raise OSError(error.errno, error.strerror, str(path)) from None


def check_writable(path: Path) -> None:
    """Check that a file can be written, before its content is computed.

    Raises:
        OSError: `path` is a folder, or its parent folder does not exist or is not writable.
    """
    mode = _get_mode(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise _make_error(errno.EISDIR, path)
    if mode is not None and not stat.S_ISREG(mode):
        return
    folder = path.resolve().parent
    if not folder.is_dir():
        raise _make_folder_error(path)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _make_error(errno.EACCES, path)


def _make_error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))


def _make_folder_error(path: Path) -> OSError:
    folder = path.parent if not path.is_symlink() else path.resolve().parent
    return OSError(errno.ENOENT, f"the folder {folder} does not exist", str(path))


def _get_mode(path: Path) -> int | None:
    """Return the type and permissions of a file, or None if it does not exist."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _get_permissions(mode: int | None) -> int:
    if mode is not None:
        return mode & 0o777
    # The process's umask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
