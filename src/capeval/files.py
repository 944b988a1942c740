"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["written_whole"]


@contextmanager
def written_whole(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of `path` once all of it is there.

    Until then, and when writing fails, whatever was at `path` stays as it was.

    Raises:
        OSError: The folder does not exist or can't be written to, or the disk is full.
    """
    path = Path(path)
    # The new file must be on the same disk as the old one to take its place in one step.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.chmod(_permissions(path))
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _permissions(path: Path) -> int:
    if path.exists():
        return path.stat().st_mode & 0o777
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
