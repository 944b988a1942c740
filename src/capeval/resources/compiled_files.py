"""Resource files: compiled once, memory-mapped afterwards.

A small file next to each records its size and modification time at its last full verification. Unchanged
files are therefore opened in milliseconds; changed files are verified, and compiled again if they are
damaged.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from capeval._internal.atomic_write import atomic_write
from capeval._internal.user_folders import find_user_folder
from capeval.errors import CapevalWarning, ResourceError

__all__ = [
    "CACHE",
    "CompiledResource",
    "cache_folder",
    "ensure_compiled_file",
    "find_packaged_file",
    "is_intact",
    "read_fingerprint",
    "temporary_folder",
]

CACHE = "CAPEVAL_CACHE"
"""The environment variable with the folder of compiled files."""


@dataclass(frozen=True, kw_only=True)
class CompiledResource:
    """An available resource.

    Attributes:
        path: The compiled file.
        fingerprint: A fingerprint of its content.
        source: The package that contains the file, or the origin of the compiled data.
    """

    path: Path
    fingerprint: str
    source: str = ""


class _Opened(Protocol):
    """An open compiled file."""

    def verify(self) -> None:
        """Read the whole file, and raise an error if it is damaged."""


# The end of the fingerprint in the header, in bytes.
_FINGERPRINT_END = 44

Open = Callable[[Path], _Opened]


def cache_folder() -> Path:
    """Return the folder of compiled files.

    It is the folder in the variable `CAPEVAL_CACHE` or, by default, `capeval` in the user's cache folder.

    Raises:
        OptionError: The variable is empty.
    """
    return find_user_folder(CACHE, "cache")


@cache
def temporary_folder() -> Path:
    """Return a folder of this process that is deleted when the process ends."""
    import shutil
    import tempfile

    folder, process = Path(tempfile.mkdtemp(prefix="capeval-")), os.getpid()

    def delete() -> None:
        # Forked processes inherit this exit handler.
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(delete)
    return folder


def ensure_compiled_file(
    path: Path, opened: Open, compiled: Callable[[], bytes], *, again: bool = False
) -> Path:
    """Return the path of a compiled file; compile it if it is missing or damaged.

    If several processes request it at once, one compiles it and the others wait. A warning names a damaged
    file.

    Args:
        path: The path of the file.
        opened: Opens the file.
        compiled: Returns the bytes of the file.
        again: Whether to compile the file again even if it is intact. The old file is replaced when the new
            one is complete.

    Raises:
        ResourceError: The sources are missing or damaged.
        OSError: The folder is not writable.
    """
    if not again and is_intact(path, opened):
        return path
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        damaged = path.exists() and not is_intact(path, opened)
        if damaged:
            warnings.warn(f"{path} is damaged and will be compiled again", CapevalWarning, stacklevel=2)
        if again or damaged or not path.exists():
            content = compiled()
            # Unfinished files of killed processes. No other process writes while this one has the lock.
            for unfinished in path.parent.glob(f".{path.name}.*"):
                unfinished.unlink(missing_ok=True)
            with atomic_write(path) as file:
                file.write(content)
            _write_record(path)
    return path


def find_packaged_file(package: str, name: str, opened: Open) -> Path | None:
    """Return a compiled file of an installed data package, or None if it is missing or damaged.

    A warning names a damaged file. Nothing is written next to an installed file, so each process verifies it
    in full, which takes 20 ms for METEOR's tables.

    Args:
        package: The name of the package, such as `capeval-meteor-data`.
        name: The name of the file.
        opened: Opens the file.
    """
    spec = importlib.util.find_spec(package.replace("-", "_"))
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place) / name
        if path.is_file() and _is_intact_package(path, package, opened):
            return path
    return None


@cache
def _is_intact_package(path: Path, package: str, opened: Open) -> bool:
    try:
        opened(path).verify()
    except (OSError, ValueError, ResourceError):
        warnings.warn(
            f"{path} is damaged; to reinstall it, run `pip install --force-reinstall {package}`",
            CapevalWarning,
            stacklevel=1,
        )
        return False
    return True


def is_intact(path: Path, opened: Open) -> bool:
    """Return whether a compiled file is intact; read all of it only if it changed."""
    try:
        state = _read_state(path)
        file = opened(path)
        if _get_record_path(path).exists() and json.loads(_get_record_path(path).read_bytes()) == state:
            return True
        file.verify()
    except (OSError, ValueError, ResourceError):
        return False
    _write_record(path)
    return True


def read_fingerprint(path: Path) -> str:
    """Return the fingerprint in the header of a compiled file: the CRC-32 of its content."""
    # The format is described in crates/tables. Reading 73 MB to compute a checksum would take longer.
    with path.open("rb") as file:
        header = file.read(_FINGERPRINT_END)
    return f"{int.from_bytes(header[-4:], 'little'):08x}"


def _read_state(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"bytes": status.st_size, "modified": status.st_mtime_ns}


def _get_record_path(path: Path) -> Path:
    return path.with_suffix(".checked")


def _write_record(path: Path) -> None:
    # Errors are ignored: without the record, the file is verified in full next time.
    with suppress(OSError), atomic_write(_get_record_path(path)) as file:
        file.write(json.dumps(_read_state(path)).encode())
