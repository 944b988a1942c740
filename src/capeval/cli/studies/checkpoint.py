"""Parts of a long study that are done, kept in a file so that it can go on after a stop."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from capeval.errors import FormatError
from capeval.files import written_whole

__all__ = ["Checkpoint"]


class Checkpoint:
    """What is done of a study, by name; without a file it only remembers.

    Args:
        path: Where it is kept; written whole after each part.
        made_with: What the parts depend on. A file made with something else is begun anew.

    Raises:
        FormatError: The file is no checkpoint.
        OSError: The file can't be read.
    """

    def __init__(self, path: Path | None, made_with: dict[str, Any]) -> None:
        self._path = path
        self._made_with = made_with
        self._parts: dict[str, Any] = {}
        if path is not None and path.exists():
            try:
                content = json.loads(path.read_bytes())
                known, parts = content["made_with"], dict(content["parts"])
            except (ValueError, KeyError, TypeError):
                raise FormatError("must be a study's checkpoint", kind="NotJson", path=path) from None
            if known == made_with:
                self._parts = parts

    def part(self, name: str, make: Callable[[], Any]) -> Any:
        """The part of that name: from the file, or made now and kept."""
        if name not in self._parts:
            self._parts[name] = make()
            if self._path is not None:
                content = {"made_with": self._made_with, "parts": self._parts}
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with written_whole(self._path) as file:
                    file.write(json.dumps(content).encode() + b"\n")
        return self._parts[name]
