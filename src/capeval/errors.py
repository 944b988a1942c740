"""Everything that can be wrong, by name.

Each message says what was expected, what was found, and where. All derive from `CapevalError`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

__all__ = [
    "CapevalError",
    "CaptionError",
    "DependencyError",
    "FormatError",
    "MismatchError",
    "OptionError",
    "ResourceError",
]


class CapevalError(Exception):
    """Base class of all errors that capeval raises on purpose."""


class FormatError(CapevalError, ValueError):
    """A file is not what its format asks for.

    Attributes:
        kind: What is wrong, one word: `NotJson`, `Truncated`, `DuplicateKey`, `WrongType`, ...
        entry: The entry that is wrong, such as `annotations[17]`, if one is.
        field: The field of that entry, if one is.
        line: The line in the file, from 1, where its text is wrong.
        column: The character in that line, from 1.
        path: The file, once it is known.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        entry: str | None = None,
        field: str | None = None,
        line: int | None = None,
        column: int | None = None,
        path: str | Path | None = None,
    ) -> None:
        super().__init__(message if path is None else f"{path}: {message}")
        self.message = message
        self.kind = kind
        self.entry = entry
        self.field = field
        self.line = line
        self.column = column
        self.path = path

    def in_file(self, path: str | Path) -> FormatError:
        """The same error with the file named in front."""
        return FormatError(
            self.message,
            kind=self.kind,
            entry=self.entry,
            field=self.field,
            line=self.line,
            column=self.column,
            path=path,
        )

    def __reduce__(self) -> tuple[object, ...]:
        # An exception is pickled as a call with its positional arguments alone, and `kind` is none.
        made = partial(type(self), kind=self.kind)
        return made, (self.message,), {**self.__dict__, "args": self.args}


class CaptionError(CapevalError, ValueError):
    """Image ids or captions given from Python are not what they must be."""


class MismatchError(CapevalError, ValueError):
    """References and candidates are not of the same images."""


class OptionError(CapevalError, ValueError):
    """An option has a value that it can't have, or a name is not known."""


class ResourceError(CapevalError, RuntimeError):
    """Data that a metric or a command needs is missing or damaged."""


class DependencyError(CapevalError, ImportError):
    """An optional package is needed and not installed."""
