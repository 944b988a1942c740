"""Registry of caption file formats, and format detection."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING

from capeval._internal.plugins import PluginGroup, Registry
from capeval.data.captions import Candidates, References
from capeval.data.columns import Role
from capeval.errors import FormatError, FormatErrorKind, OptionError
from capeval.formats import captions
from capeval.formats.base import CaptionFormat, Captions, ReadOptions
from capeval.formats.captions import entries
from capeval.formats.io.rows import UTF16
from capeval.formats.io.sources import Source

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["FORMATS", "parse_candidates", "parse_references"]

_ReaderOf = Callable[[CaptionFormat], Callable[[Source, ReadOptions], Captions] | None]


def _register_plugin(entry: EntryPoint, loaded: object) -> None:
    if not isinstance(loaded, CaptionFormat):
        raise OptionError(f"entry point {entry.value} must be a CaptionFormat (got {loaded!r})")
    FORMATS.add({loaded.name: loaded}, entry.module)


FORMATS: Registry[CaptionFormat] = Registry("format", PluginGroup("capeval.formats", _register_plugin))
"""Formats by name: one per module of `capeval.formats.captions`, and formats of plug-ins."""

_MODULES = pkgutil.iter_modules(captions.__path__, f"{captions.__name__}.")
_KINDS: list[CaptionFormat] = [import_module(module.name).KIND for module in _MODULES]
_OWN = tuple(sorted(_KINDS, key=attrgetter("priority")))
FORMATS.add({kind.name: kind for kind in _OWN}, __name__)

_JSON = re.compile(r"\.(json|jsonl|ndjson)$")
# Common unsupported formats: first bytes, name, and advice for the user.
_OTHERS = (
    (b"BZh", "bzip2", "use gzip, xz or zip instead"),
    (b"\x28\xb5\x2f\xfd", "zstd", "use gzip, xz or zip instead"),
    (b"7z\xbc\xaf", "7z", "use gzip, xz or zip instead"),
    (b"Rar!", "RAR", "use gzip, xz or zip instead"),
    (b"\x89HDF", "HDF5", "save the captions in a supported format, such as JSON"),
    (b"\x93NUMPY", "a NumPy array", "save the captions in a supported format, such as JSON"),
    (b"\x80", "a pickle", "loading a pickle can run arbitrary code; save the captions as JSON"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file", "save the sheet as CSV"),
)


def parse_references(source: Source, options: ReadOptions) -> References:
    """Read the references in a file.

    Raises:
        FormatError: The format is unknown or does not support references, or the file is invalid.
        OptionError: Columns or splits are named, but the format has none.
    """
    return _read(lambda kind: kind.references, source, options)


def parse_candidates(source: Source, options: ReadOptions) -> Candidates:
    """Read the candidates in a file.

    Raises:
        FormatError: The format is unknown or does not support candidates, or the file is invalid.
        OptionError: Columns are named, but the format has none.
    """
    return _read(lambda kind: kind.candidates, source, options)


def _read(reader_of: _ReaderOf[Captions], source: Source, options: ReadOptions) -> Captions:
    """Read a file in a format of capeval or of a plug-in.

    Plug-ins are tried only if no format of capeval can read the file, so installing one does not change how
    other files are read.
    """
    try:
        return _read_as(_detect_own_format(source, options), reader_of, source, options)
    except (FormatError, OptionError):
        plugins = (kind for kind in _list_formats() if kind not in _OWN)
        plugin = next((kind for kind in plugins if kind.recognize(source, options)), None)
        if plugin is None:
            raise
    return _read_as(plugin, reader_of, source, options)


def _read_as(
    kind: CaptionFormat, reader_of: _ReaderOf[Captions], source: Source, options: ReadOptions
) -> Captions:
    if options.columns.are_named and not kind.has_columns:
        raise OptionError(f"'id_column' and 'caption_column' require a file with columns (got {kind.name})")
    if options.splits and not kind.has_splits:
        raise OptionError(f"'split' requires a file with splits (got {kind.name})")
    read = reader_of(kind)
    if read is None:
        raise _make_unsupported_error(kind, options.columns.role)
    return read(source, options)


def _list_formats() -> list[CaptionFormat]:
    return sorted(FORMATS.values(), key=attrgetter("priority"))


def _detect_own_format(source: Source, options: ReadOptions) -> CaptionFormat:
    """Return the format of a file, detected by its content and then by its name."""
    _reject_unsupported(source)
    kind = next((kind for kind in _OWN if kind.recognize(source, options)), None)
    if kind is None and _JSON.search(source.name) is not None:
        # This reader reports the JSON error.
        kind = entries.KIND
    if kind is None:
        raise _make_unknown_error(source, options.columns.role)
    return kind


def _reject_unsupported(source: Source) -> None:
    if not source.data or source.data.isspace():
        found = "has only white space" if source.data else "is empty"
        raise FormatError(f"the file {found}; expected captions", kind=FormatErrorKind.EMPTY_FILE)
    if source.data.startswith(UTF16):
        message = "the file looks like UTF-16; expected plain UTF-8"
        raise FormatError(message, kind=FormatErrorKind.UTF16)
    for start, name, instead in _OTHERS:
        if source.data.startswith(start):
            raise FormatError(f"the file looks like {name}; {instead}", kind=FormatErrorKind.UNSUPPORTED)


def _describe_supported(role: Role) -> str:
    readers = {Role.REFERENCES: "references", Role.CANDIDATES: "candidates"}
    kinds = [kind for kind in _list_formats() if getattr(kind, readers[role]) is not None]
    names = ", ".join(kind.name for kind in kinds)
    return f"supported formats for {role}: {names}"


def _make_unsupported_error(kind: CaptionFormat, role: Role) -> FormatError:
    message = f"the file is {kind.name}, {kind.form}; {_describe_supported(role)}"
    return FormatError(message, kind=FormatErrorKind.UNSUPPORTED)


def _make_unknown_error(source: Source, role: Role) -> FormatError:
    line = source.first_line
    is_text = bool(line) and line.replace("\t", " ").isprintable()
    found = f"text that starts with {line[:60]!r}" if is_text else "bytes that are not UTF-8 text"
    message = f"cannot detect the format of the file (got {found}); {_describe_supported(role)}"
    if is_text:
        message += ". Plain text has no image ids: write a CSV file with the header image_id,caption"
    return FormatError(message, kind=FormatErrorKind.UNSUPPORTED)
