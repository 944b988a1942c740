"""Fingerprints of files and folders, for signatures."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

__all__ = ["fingerprint_file"]


def fingerprint_file(file: str | Path) -> str:
    """Return the name of a file and the start of its SHA-256 digest, such as `clip.csv-1f4a09c2`.

    The digest of a folder, such as one with images, is that of the names and sizes of its files.

    Raises:
        OSError: The file or folder can't be read.
    """
    path = Path(file)
    if path.is_dir():
        return f"{path.resolve().name}-{_compute_digest_of_folder(path)}"
    status = path.stat()
    return f"{path.name}-{_compute_digest(path, status.st_mtime_ns, status.st_size)}"


@lru_cache(maxsize=64)
def _compute_digest(path: Path, modified: int, size: int) -> str:  # noqa: ARG001 - they are part of the key.
    """Return the first eight digits; several signatures may contain the same large file."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:8]


def _compute_digest_of_folder(folder: Path) -> str:
    import hashlib

    files = sorted((each.name, each.stat().st_size) for each in folder.iterdir() if each.is_file())
    return hashlib.sha256(repr(files).encode()).hexdigest()[:8]
