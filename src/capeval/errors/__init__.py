"""The exceptions that capeval raises on purpose, and its warnings.

Each message says what was expected, what was found, and where. All derive from `CapevalError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Self

from capeval.errors.messages import first_few

__all__ = [
    "CapevalError",
    "CapevalWarning",
    "CaptionError",
    "DependencyError",
    "FormatError",
    "FormatErrorKind",
    "MismatchError",
    "OptionError",
    "ResourceError",
    "UnscoredError",
    "UnscoredWarning",
]


class CapevalError(Exception):
    """Base class of all errors that capeval raises on purpose."""


class CapevalWarning(UserWarning):
    """Something that works, and may not be what was meant; the message says why."""


class UnscoredWarning(CapevalWarning):
    """Images that a metric could not score and leaves out of its corpus score.

    Attributes:
        images: The images.
        reason: The reason, as the end of a sentence.
        fix: The way to score them.
    """

    def __init__(self, images: Sequence[int | str], reason: str, fix: str) -> None:
        super().__init__(f"{first_few(images)} {reason}; {fix}")
        self.images = tuple(images)
        self.reason = reason
        self.fix = fix

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[int | str, ...], str, str]]:
        return type(self), (self.images, self.reason, self.fix)


class FormatErrorKind(StrEnum):
    """What is wrong with a file, in one word."""

    EMPTY_FILE = "EmptyFile"
    BYTE_ORDER_MARK = "ByteOrderMark"
    UTF16 = "Utf16"
    NOT_UTF8 = "NotUtf8"
    COMPRESSED = "Compressed"
    NOT_JSON = "NotJson"
    NOT_A_NUMBER = "NotANumber"
    TRUNCATED = "Truncated"
    TOO_DEEP = "TooDeep"
    NUMBER_TOO_LARGE = "NumberTooLarge"
    LONE_SURROGATE = "LoneSurrogate"
    WRONG_TYPE = "WrongType"
    MISSING_FIELD = "MissingField"
    DUPLICATE_KEY = "DuplicateKey"
    DUPLICATE_IMAGE = "DuplicateImage"
    MIXED_IDS = "MixedIds"
    NO_REFERENCES = "NoReferences"
    SEVERAL_CAPTIONS = "SeveralCaptions"
    UNKNOWN_IMAGE = "UnknownImage"
    NO_CAPTIONS = "NoCaptions"
    NOT_CSV = "NotCsv"
    NOT_MATLAB = "NotMatlab"
    DAMAGED = "Damaged"
    ENCRYPTED = "Encrypted"
    NESTED = "Nested"
    UNSUPPORTED = "Unsupported"
    WRONG_MEMBERS = "WrongMembers"
    TOO_LARGE = "TooLarge"
    EMPTY = "Empty"
    NO_IMAGES = "NoImages"
    NO_RATINGS = "NoRatings"
    DUPLICATE = "Duplicate"
    MISMATCH = "Mismatch"
    AMBIGUOUS = "Ambiguous"
    WRONG_LENGTH = "WrongLength"
    WRONG_VALUE = "WrongValue"
    UNKNOWN_CLASS = "UnknownClass"
    UNKNOWN_DOMAIN = "UnknownDomain"
    NOT_FREQUENCIES = "NotFrequencies"
    NOT_A_CHECKPOINT = "NotACheckpoint"
    OTHER_CHECKPOINT = "OtherCheckpoint"
    NOT_A_MANIFEST = "NotAManifest"
    MISSING = "Missing"
    UNKNOWN = "Unknown"
    CHANGED = "Changed"


class FormatError(CapevalError, ValueError):
    """A file is not what its format asks for.

    Attributes:
        kind: What is wrong; each kind equals its name, such as `NotJson` or `DuplicateKey`.
        entry: The entry that is wrong, such as `annotations[17]`; None where it is not one entry.
        field: The field of that entry that is wrong; None where it is not one field.
        line: The line in the file, from 1, where its text is wrong.
        column: The character in that line, from 1.
        path: The file; None where it is not known.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: FormatErrorKind | str,
        entry: str | None = None,
        field: str | None = None,
        line: int | None = None,
        column: int | None = None,
        path: str | Path | None = None,
    ) -> None:
        super().__init__(message if path is None else f"{path}: {message}")
        self.message = message
        # The native readers pass the name of a kind.
        self.kind = FormatErrorKind(kind)
        self.entry = entry
        self.field = field
        self.line = line
        self.column = column
        self.path = path

    def in_file(self, path: str | Path) -> FormatError:
        """The same error with the file named at the beginning of the message."""
        return self._changed(self.message, path)

    def with_hint(self, hint: str) -> FormatError:
        """The same error with a hint at the end of the message."""
        return self._changed(f"{self.message}; {hint}", self.path)

    def _changed(self, message: str, path: str | Path | None) -> FormatError:
        return FormatError(
            message,
            kind=self.kind,
            entry=self.entry,
            field=self.field,
            line=self.line,
            column=self.column,
            path=path,
        )

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions are unpickled by a call with positional arguments only, and `kind` is a keyword.
        restore = partial(type(self), kind=self.kind)
        return restore, (self.message,), {**self.__dict__, "args": self.args}


class CaptionError(CapevalError, ValueError):
    """Image ids or captions given from Python are not what they must be."""


class UnscoredError(CaptionError):
    """Images that a metric can't score and must not leave out.

    Attributes:
        images: The images.
        reason: The reason, as the end of a sentence.
    """

    def __init__(self, images: Sequence[int | str], reason: str) -> None:
        super().__init__(f"{first_few(images)} {reason}")
        self.images = tuple(images)
        self.reason = reason

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[int | str, ...], str]]:
        return type(self), (self.images, self.reason)


class MismatchError(CapevalError, ValueError):
    """Two things that belong together differ, such as the images of references and candidates."""


class OptionError(CapevalError, ValueError):
    """An option has a value that is not allowed, or a name is not known."""


class ResourceError(CapevalError, RuntimeError):
    """Data that a metric or a command needs is missing or damaged."""


class DependencyError(CapevalError, ImportError):
    """An optional package is needed and not installed."""
