"""Checkpoint files with finished parts, to resume interrupted studies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from capeval._internal.atomic_write import atomic_write
from capeval._native import __version__
from capeval.errors import FormatError, FormatErrorKind

__all__ = ["StudyCheckpoint"]


class StudyCheckpoint:
    """Results of finished parts by name, in a JSON file rewritten after each part.

    Args:
        path: The file; None keeps parts in memory only.
        key: The cache key of the parts. A file with a different key, or from another version of capeval, is
            rejected.

    Raises:
        FormatError: The file is not a checkpoint, or belongs to other data or options.
        OSError: The file can't be read.
    """

    def __init__(self, path: str | Path | None, key: str) -> None:
        self._path = None if path is None else Path(path)
        self._key = f"capeval {__version__}; {key}"
        self._parts: dict[str, Any] = {}
        if self._path is not None and self._path.exists():
            self._parts = self._read(self._path)

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            content = json.loads(path.read_bytes())
            key, parts = content["key"], dict(content["parts"])
        except (ValueError, KeyError, TypeError):
            raise FormatError(
                "not a checkpoint: expected a JSON object with 'key' and 'parts'",
                kind=FormatErrorKind.NOT_A_CHECKPOINT,
                path=path,
            ) from None
        if key != self._key:
            raise FormatError(
                "the checkpoint belongs to other data, metrics, options, seed or version; use a new file",
                kind=FormatErrorKind.OTHER_CHECKPOINT,
                path=path,
            )
        return parts

    def part(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a part from the file, or compute it and add it to the file.

        Args:
            name: The name of the part.
            make: Function that computes the part, from types that JSON supports.

        Raises:
            OSError: The file can't be written.
        """
        if name not in self._parts:
            self._parts[name] = make()
            if self._path is not None:
                with atomic_write(self._path) as file:
                    file.write(json.dumps({"key": self._key, "parts": self._parts}).encode())
        return self._parts[name]
