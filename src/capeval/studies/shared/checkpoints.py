"""A file with the finished parts of a long study, so that a stopped study can continue later."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from capeval._internal.atomic_write import written_whole
from capeval._native import __version__
from capeval.errors import FormatError, FormatErrorKind

__all__ = ["StudyCheckpoint"]


class StudyCheckpoint:
    """Parts of a result by name, in a JSON file that is rewritten after each part.

    Args:
        path: The file; without one, parts are only in memory.
        key: What the parts depend on: a file made with another key, or another version of capeval, is
            refused.

    Raises:
        FormatError: The file is something else, or of other data or options.
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
                "a checkpoint must be an object with 'key' and 'parts' (got something else)",
                kind=FormatErrorKind.NOT_A_CHECKPOINT,
                path=path,
            ) from None
        if key != self._key:
            raise FormatError(
                "a checkpoint must be of the same data, metrics, options, seed and version (got another)",
                kind=FormatErrorKind.OTHER_CHECKPOINT,
                path=path,
            )
        return parts

    def part(self, name: str, make: Callable[[], Any]) -> Any:
        """The part of that name from the file; a missing part is made and written to the file.

        Args:
            name: The name of the part.
            make: Makes the part, of types that JSON has.

        Raises:
            OSError: The file can't be written.
        """
        if name not in self._parts:
            self._parts[name] = make()
            if self._path is not None:
                with written_whole(self._path) as file:
                    file.write(json.dumps({"key": self._key, "parts": self._parts}).encode())
        return self._parts[name]
