"""All kinds of files of captions, in the order in which they are tried."""

from __future__ import annotations

import re

from capeval.data.captions import Candidates, References
from capeval.data.columns import Role
from capeval.errors import FormatError, FormatErrorKind, OptionError
from capeval.formats.base import CaptionFormat, ReadOptions
from capeval.formats.captions import (
    coco,
    delimited,
    entries,
    json_lines,
    karpathy,
    mapping,
    tables,
    token_files,
    wrapped,
)
from capeval.formats.io.rows import UTF16
from capeval.formats.io.sources import Source

__all__ = ["KINDS", "candidates_in", "references_in"]

# Those that take what is left, such as any other object, come after the others.
KINDS: tuple[CaptionFormat, ...] = (
    tables.KIND,
    karpathy.KIND,
    coco.KIND,
    wrapped.KIND,
    json_lines.KIND,
    entries.KIND,
    mapping.KIND,
    token_files.KIND,
    delimited.KIND,
)

_JSON = re.compile(r"\.(json|jsonl|ndjson)$")
# What people have and what is not read, by its first bytes, with what to do instead.
_OTHERS = (
    (b"BZh", "bzip2", "gzip, xz and zip are read"),
    (b"\x28\xb5\x2f\xfd", "zstd", "gzip, xz and zip are read"),
    (b"7z\xbc\xaf", "7z", "gzip, xz and zip are read"),
    (b"Rar!", "RAR", "gzip, xz and zip are read"),
    (b"\x89HDF", "HDF5", "save the captions as one of the kinds that are read"),
    (b"\x93NUMPY", "NumPy's", "save the captions as one of the kinds that are read"),
    (b"\x80", "a pickle", "pickles can run any code when they are read: save the captions as JSON"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file", "save the sheet as CSV"),
)


def references_in(source: Source, options: ReadOptions) -> References:
    """The references in a file.

    Raises:
        FormatError: It is of no kind that is read as references, or something is wrong with it.
        OptionError: Columns or splits are named, and a file of its kind has none.
    """
    kind = _kind_of(source, options)
    if kind.references is None:
        raise _unsuited(kind, options.columns.role)
    return kind.references(source, options)


def candidates_in(source: Source, options: ReadOptions) -> Candidates:
    """The candidates in a file.

    Raises:
        FormatError: It is of no kind that is read as candidates, or something is wrong with it.
        OptionError: Columns are named, and a file of its kind has none.
    """
    kind = _kind_of(source, options)
    if kind.candidates is None:
        raise _unsuited(kind, options.columns.role)
    return kind.candidates(source, options)


def _kind_of(source: Source, options: ReadOptions) -> CaptionFormat:
    """The kind of a file, by its content and then by its name."""
    _refuse_others(source)
    kind = next((kind for kind in KINDS if kind.recognise(source, options)), None)
    if kind is None and _JSON.search(source.name) is not None:
        # Its reader says what is wrong with the JSON.
        kind = entries.KIND
    if kind is None:
        raise _unknown(source, options.columns.role)
    if options.columns.are_named and not kind.has_columns:
        raise OptionError(f"'id_column' and 'caption_column' are for files with columns (got {kind.name})")
    if options.splits and not kind.has_splits:
        raise OptionError(f"'split' is for files with splits (got {kind.name})")
    return kind


def _refuse_others(source: Source) -> None:
    if not source.data or source.data.isspace():
        found = "has only white space" if source.data else "is empty"
        raise FormatError(f"the file {found}; expected captions", kind=FormatErrorKind.EMPTY_FILE)
    if source.data.startswith(UTF16):
        message = "the file looks like UTF-16; expected plain UTF-8"
        raise FormatError(message, kind=FormatErrorKind.UTF16)
    for start, name, instead in _OTHERS:
        if source.data.startswith(start):
            raise FormatError(f"the file looks like {name}: {instead}", kind=FormatErrorKind.UNSUPPORTED)


def _expected(role: Role) -> str:
    readers = {Role.REFERENCES: "references", Role.CANDIDATES: "candidates"}
    kinds = [kind for kind in KINDS if getattr(kind, readers[role]) is not None]
    return f"what is read as {role}: " + "; ".join(f"{kind.name}, {kind.form}" for kind in kinds)


def _unsuited(kind: CaptionFormat, role: Role) -> FormatError:
    message = f"the file is {kind.name}, {kind.form}; {_expected(role)}"
    return FormatError(message, kind=FormatErrorKind.UNSUPPORTED)


def _unknown(source: Source, role: Role) -> FormatError:
    line = source.first_line
    is_text = bool(line) and line.replace("\t", " ").isprintable()
    found = f"text that begins with {line[:60]!r}" if is_text else "bytes that are no text in UTF-8"
    message = f"the file is of no known kind (got {found}); {_expected(role)}"
    return FormatError(message, kind=FormatErrorKind.UNSUPPORTED)
