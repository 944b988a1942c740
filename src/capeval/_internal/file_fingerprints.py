"""Fingerprints of files, for signatures."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

__all__ = ["fingerprint_file"]


def fingerprint_file(file: str | Path) -> str:
    """Return the name of a file and the start of its SHA-256 digest, such as `clip.csv-1f4a09c2`.

    Raises:
        OSError: The file can't be read.
    """
    path = Path(file)
    status = path.stat()
    return f"{path.name}-{_compute_digest(path, status.st_mtime_ns, status.st_size)}"


@lru_cache(maxsize=64)
def _compute_digest(path: Path, modified: int, size: int) -> str:  # noqa: ARG001 - they are part of the key.
    """Return the first eight digits; several signatures may contain the same large file."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:8]
