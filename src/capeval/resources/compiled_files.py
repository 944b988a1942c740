"""Files compiled once from what the user has, and memory-mapped from then on.

A small file beside each says what it was when it was last read in full, so that opening it takes
milliseconds and a file that was changed since is checked, and made again if it is damaged.
"""

from __future__ import annotations

import atexit
import json
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from capeval._internal.atomic_write import written_whole
from capeval.errors import CapevalWarning, OptionError, ResourceError

__all__ = ["CACHE", "CompiledResource", "cache_folder", "compiled_file", "is_sound", "temporary_folder"]

CACHE = "CAPEVAL_CACHE"
"""The variable that names the folder of compiled files."""


@dataclass(frozen=True, kw_only=True)
class CompiledResource:
    """A resource that is there.

    Attributes:
        path: Its file.
        fingerprint: What tells it from others.
    """

    path: Path
    fingerprint: str


class _Opened(Protocol):
    """A compiled file that is open."""

    def verify(self) -> None:
        """Reads all of it, and raises an error if it is damaged."""


Open = Callable[[Path], _Opened]


def cache_folder() -> Path:
    """The folder that compiled files are in: the variable's, or `capeval` in the user's cache folder.

    Raises:
        OptionError: The variable is empty.
    """
    wanted = os.environ.get(CACHE)
    if wanted == "":
        raise OptionError(f"{CACHE} must be a folder (got nothing)")
    if wanted is not None:
        return Path(wanted)
    # Imported here: it takes longer than all that a run with compiled tables does otherwise.
    import platformdirs

    return platformdirs.user_cache_path("capeval")


@cache
def temporary_folder() -> Path:
    """A folder of this process, which is deleted when the process ends."""
    import shutil
    import tempfile

    folder, process = Path(tempfile.mkdtemp(prefix="capeval-")), os.getpid()

    def delete() -> None:
        # A fork of the process has this function too.
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(delete)
    return folder


def compiled_file(path: Path, opened: Open, compiled: Callable[[], bytes], *, again: bool = False) -> Path:
    """The path of a compiled file, which is made where it is missing or damaged.

    When several processes ask at once, one compiles and the others wait for it. Where the file was damaged, a
    warning names it.

    Args:
        path: Where it is.
        opened: Opens it.
        compiled: Makes its bytes.
        again: Whether to make it where it is whole too. Until the new one is whole, the old one stays.

    Raises:
        ResourceError: What it is made from is missing or damaged.
        OSError: Its folder can't be written to.
    """
    if not again and is_sound(path, opened):
        return path
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        damaged = path.exists() and not is_sound(path, opened)
        if damaged:
            warnings.warn(f"{path} is damaged, and is made again", CapevalWarning, stacklevel=2)
        if again or damaged or not path.exists():
            content = compiled()
            with written_whole(path) as file:
                file.write(content)
            _remember(path)
    return path


def is_sound(path: Path, opened: Open) -> bool:
    """Whether a compiled file is whole; reads all of it only where it changed since the last time."""
    try:
        state = _state(path)
        file = opened(path)
        if _stamp(path).exists() and json.loads(_stamp(path).read_bytes()) == state:
            return True
        file.verify()
    except (OSError, ValueError, ResourceError):
        return False
    _remember(path)
    return True


def _state(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"bytes": status.st_size, "modified": status.st_mtime_ns}


def _stamp(path: Path) -> Path:
    return path.with_suffix(".checked")


def _remember(path: Path) -> None:
    # Without it the file is read in full the next time, which is slower and no less sound.
    with suppress(OSError), written_whole(_stamp(path)) as file:
        file.write(json.dumps(_state(path)).encode())
