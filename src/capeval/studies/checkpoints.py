"""What a long study has done so far, in a file, so that it can be stopped and taken up again."""

from __future__ import annotations

import json
from pathlib import Path

from capeval.errors import FormatError
from capeval.files import written_whole

__all__ = ["Checkpoint"]


class Checkpoint:
    """Parts of a result by name, in a JSON file that is written whole after each part.

    Args:
        path: The file; without one, nothing is kept.
        key: What the parts depend on: a file made with another key is refused.

    Raises:
        FormatError: The file is something else, or of other data or options.
        OSError: The file can't be read.
    """

    def __init__(self, path: str | Path | None, key: str) -> None:
        self._path = None if path is None else Path(path)
        self._key = key
        self._parts: dict[str, list[list[float]]] = {}
        if self._path is not None and self._path.exists():
            self._parts = self._read(self._path)

    def _read(self, path: Path) -> dict[str, list[list[float]]]:
        try:
            content = json.loads(path.read_bytes())
            key, parts = content["key"], dict(content["parts"])
        except (ValueError, KeyError, TypeError):
            raise FormatError(
                "a checkpoint must be an object with 'key' and 'parts' (got something else)",
                kind="NotACheckpoint",
                path=path,
            ) from None
        if key != self._key:
            raise FormatError(
                "a checkpoint must be of the same captions, metrics, options and seed (got that of others)",
                kind="OtherCheckpoint",
                path=path,
            )
        return parts

    def get(self, name: str) -> list[list[float]] | None:
        """A part, or None where it has not been made yet."""
        return self._parts.get(name)

    def add(self, name: str, part: list[list[float]]) -> None:
        """Keeps a part.

        Raises:
            OSError: The file can't be written.
        """
        self._parts[name] = part
        if self._path is not None:
            with written_whole(self._path) as file:
                file.write(json.dumps({"key": self._key, "parts": self._parts}).encode())
