"""Exceptions and warnings of capeval.

All exceptions derive from `CapevalError`. Messages state the expected value, the value found, and its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Self

from capeval.errors.messages import format_images

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
    """Base class of all exceptions that capeval raises on purpose."""


class CapevalWarning(UserWarning):
    """A valid but possibly unintended use; the message gives the reason."""


class UnscoredWarning(CapevalWarning):
    """A metric could not score some images, which are excluded from its corpus score.

    Attributes:
        images: The images.
        reason: The reason, as the end of a sentence.
        fix: Advice on scoring them.
    """

    def __init__(self, images: Sequence[int | str], reason: str, fix: str) -> None:
        super().__init__(f"{format_images(images)} {reason}; {fix}")
        self.images = tuple(images)
        self.reason = reason
        self.fix = fix

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[int | str, ...], str, str]]:
        return type(self), (self.images, self.reason, self.fix)


class FormatErrorKind(StrEnum):
    """The problem with a file, as one word."""

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
    """A file is invalid or its format is unknown.

    Attributes:
        message: The message without the path.
        kind: The problem; each kind equals its name, such as `NotJson` or `DuplicateKey`.
        entry: The invalid entry, such as `annotations[17]`; None if it is not a single entry.
        field: The invalid field of that entry; None if it is not a single field.
        line: The line of the problem, from 1; None if unknown.
        column: The character in that line, from 1; None if unknown.
        path: The file; None if unknown.
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

    def with_path(self, path: str | Path) -> FormatError:
        """Return the same error with the file's path at the start of the message."""
        return self._copy(self.message, path)

    def with_hint(self, hint: str) -> FormatError:
        """Return the same error with a hint at the end of the message."""
        return self._copy(f"{self.message}; {hint}", self.path)

    def _copy(self, message: str, path: str | Path | None) -> FormatError:
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
        # Unpickling passes only positional arguments, but `kind` is keyword-only.
        restore = partial(type(self), kind=self.kind)
        return restore, (self.message,), {**self.__dict__, "args": self.args}


class CaptionError(CapevalError, ValueError):
    """Image ids or captions passed from Python are invalid."""


class UnscoredError(CaptionError):
    """A metric can't score some images, and must not exclude them.

    Attributes:
        images: The images.
        reason: The reason, as the end of a sentence.
    """

    def __init__(self, images: Sequence[int | str], reason: str) -> None:
        super().__init__(f"{format_images(images)} {reason}")
        self.images = tuple(images)
        self.reason = reason

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[int | str, ...], str]]:
        return type(self), (self.images, self.reason)


class MismatchError(CapevalError, ValueError):
    """Inputs are inconsistent, such as references and candidates of different images."""


class OptionError(CapevalError, ValueError):
    """An option has an invalid value, or a name is unknown."""


class ResourceError(CapevalError, RuntimeError):
    """Data required by a metric or a command is missing or damaged."""


class DependencyError(CapevalError, ImportError):
    """A required optional package is not installed."""
