"""Reading of files up to a size limit, with decompression of gzip, xz and zip."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from capeval import _native
from capeval.errors import FormatError, FormatErrorKind
from capeval.errors.messages import format_names

if TYPE_CHECKING:
    import gzip
    import zipfile

__all__ = [
    "LIMIT",
    "File",
    "JsonShape",
    "Source",
    "add_path_to_errors",
    "find_file",
    "read_bounded",
    "read_source",
    "strip_byte_order_mark",
]

File = str | Path | bytes
"""A file: its path, or its bytes."""

LIMIT = 2**31
"""The default maximum size of a decompressed file: 2 GiB, 32 times COCO's largest file."""

_CHUNK = 2**20
_GZIP, _XZ, _ZIP, _EMPTY_ZIP = b"\x1f\x8b", b"\xfd7zXZ\x00", b"PK\x03\x04", b"PK\x05\x06"
_PACKED = (_GZIP, _XZ, _ZIP, _EMPTY_ZIP)
_ENDINGS = (".gz", ".xz")
_JSON = (".json", ".jsonl", ".ndjson")
# A file made by `xz -9` needs 65 MB for decompression, but a file can request up to 4 GB.
_XZ_MEMORY = 2**28
_MARK = b"\xef\xbb\xbf"
_FIRST_LINE = 2**16


class JsonShape(NamedTuple):
    """The shape of a JSON value, for format detection.

    Attributes:
        kind: `object`, `list`, `string` or `other`; empty if there is no value.
        fields: The fields of an object, in order.
        first: The first element of a list.
    """

    kind: str
    fields: dict[str, JsonShape]
    first: JsonShape | None

    @property
    def is_list_of_objects(self) -> bool:
        """Whether the value is a list that begins with an object."""
        return self.first is not None and self.first.kind == "object"


class Source:
    """The content of a file.

    Attributes:
        data: The decompressed bytes, without a byte order mark.
        name: The file name in lower case, without `.gz` or `.xz`; for a zip archive, the name of the file
            inside it.
        had_mark: Whether the bytes started with a byte order mark.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self.data = strip_byte_order_mark(data)
        self.had_mark = len(self.data) < len(data)
        self.name = name.lower()
        for ending in _ENDINGS:
            self.name = self.name.removesuffix(ending)

    @cached_property
    def json(self) -> JsonShape:
        """The JSON shape, inferred from the start of the file."""
        return self._outline[0]

    @property
    def has_several_values(self) -> bool:
        """Whether another value follows the first, as in JSON Lines."""
        return self._outline[1]

    @property
    def begins_well(self) -> bool:
        """Whether the part of the file that `json` describes is valid JSON."""
        return self._outline[2]

    @cached_property
    def _outline(self) -> tuple[JsonShape, bool, bool]:
        if not re.match(rb"\s*[\[{]", self.data):
            return JsonShape("", {}, None), False, False
        looks, is_followed, is_sound = _native.read_outline(self.data)
        return _parse_shape(looks), is_followed, is_sound

    @cached_property
    def first_line(self) -> str:
        """The first line, if it is short text; empty otherwise."""
        line = re.split(rb"[\r\n]", self.data[:_FIRST_LINE], maxsplit=1)[0]
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return ""
        return "" if "\0" in text else text


def _parse_shape(native: tuple[str, dict[str, Any], Any]) -> JsonShape:
    kind, fields, first = native
    return JsonShape(
        kind,
        {key: _parse_shape(field) for key, field in fields.items()},
        None if first is None else _parse_shape(first),
    )


def strip_byte_order_mark(data: bytes) -> bytes:
    """Remove the byte order mark that some programs write before UTF-8."""
    return data.removeprefix(_MARK)


def find_file(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder, or of its form compressed with gzip if only that exists."""
    packed = folder / f"{name}.gz"
    return packed if packed.exists() and not (folder / name).exists() else folder / name


def read_source(file: File, limit: int = LIMIT, *, name: str = "") -> Source:
    """Read a file, and decompress gzip, xz or zip, detected by the first bytes.

    Args:
        file: The path of the file, or its bytes.
        limit: The maximum size of the file in bytes, also after decompression.
        name: A name for bytes.

    Raises:
        FormatError: The archive is damaged or encrypted, or does not contain exactly one caption file; or the
            file is larger than `limit`.
        OSError: The file can't be read.
    """
    if isinstance(file, bytes):
        _check_size(len(file), limit, "the file")
        data = file
    else:
        name = Path(file).name
        data = _read_file(Path(file), limit)
    if data.startswith(_GZIP):
        return Source(_require_plain(_gunzip(data, limit), "the unpacked file"), name)
    if data.startswith(_XZ):
        return Source(_require_plain(_decompress_xz(data, limit), "the unpacked file"), name)
    if data.startswith((_ZIP, _EMPTY_ZIP)):
        return _unzip(data, limit)
    return Source(data, name)


def _require_plain(data: bytes, what: str) -> bytes:
    if data.startswith(_PACKED):
        message = f"{what} must contain captions (got another archive)"
        raise FormatError(message, kind=FormatErrorKind.NESTED)
    return data


@contextmanager
def add_path_to_errors(file: File, name: str = "") -> Iterator[None]:
    """Add the file's path, or the name of its bytes, to a `FormatError`."""
    try:
        yield
    except FormatError as error:
        path = name if isinstance(file, bytes) else file
        raise (error.with_path(path) if path else error) from None


def _read_file(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        size = os.fstat(file.fileno())
        # A single read of a file with known size takes half the time of many reads.
        first = min(size.st_size, limit) + 1 if stat.S_ISREG(size.st_mode) else _CHUNK
        return read_bounded(file, limit, "the file", first)


def _check_size(size: int, limit: int, what: str) -> None:
    if size > limit:
        raise FormatError(
            f"{what} must have at most {limit:,} bytes (got more)", kind=FormatErrorKind.TOO_LARGE
        )


def read_bounded(file: IO[bytes] | gzip.GzipFile, limit: int, what: str, first: int = _CHUNK) -> bytes:
    """Read a whole file, up to a limit.

    The bytes are counted while they are read, because the size stated in an archive may be wrong.

    Args:
        file: The file.
        limit: The maximum size in bytes.
        what: Name of the file in messages.
        first: The size of the first read, in bytes.

    Raises:
        FormatError: The file has more than `limit` bytes.
    """
    chunks = []
    total, size = 0, first
    while chunk := file.read(size):
        total, size = total + len(chunk), _CHUNK
        _check_size(total, limit, what)
        chunks.append(chunk)
    return b"".join(chunks)


def _gunzip(data: bytes, limit: int) -> bytes:
    import gzip
    import io
    import zlib

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return read_bounded(file, limit, "the unpacked file")
    except EOFError:
        raise FormatError("the gzip file is truncated", kind=FormatErrorKind.TRUNCATED) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"the gzip file is damaged ({error})", kind=FormatErrorKind.DAMAGED) from None


def _decompress_xz(data: bytes, limit: int) -> bytes:
    import lzma

    chunks, total = [], 0
    try:
        # A file can consist of several concatenated streams.
        while data:
            stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
            while not stream.eof:
                chunk = stream.decompress(data, _CHUNK)
                if not chunk and stream.needs_input and not stream.eof:
                    message = "the xz file is truncated"
                    raise FormatError(message, kind=FormatErrorKind.TRUNCATED)
                data = b""
                total += len(chunk)
                _check_size(total, limit, "the unpacked file")
                chunks.append(chunk)
            data = stream.unused_data.lstrip(b"\0")
    except lzma.LZMAError as error:
        raise FormatError(f"the xz file is damaged ({error})", kind=FormatErrorKind.DAMAGED) from None
    return b"".join(chunks)


def _unzip(data: bytes, limit: int) -> Source:
    import io
    import lzma
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _choose_source(archive, limit)
    except NotImplementedError as error:
        raise FormatError(
            f"cannot decompress the zip archive ({error})", kind=FormatErrorKind.UNSUPPORTED
        ) from None
    except FormatError:
        raise
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError) as error:
        raise FormatError(f"the zip archive is damaged ({error})", kind=FormatErrorKind.DAMAGED) from None


def _choose_source(archive: zipfile.ZipFile, limit: int) -> Source:
    """Return the only file of an archive.

    If there are several files, it is the only JSON file, or the only JSON file with captions.
    """
    members = [
        member
        for member in archive.infolist()
        # Files that macOS adds to archives.
        if not member.is_dir() and not member.filename.startswith("__MACOSX/")
    ]
    names = [member.filename for member in members]
    if "[Content_Types].xml" in names:
        message = "the file looks like an Excel workbook; save the sheet as CSV"
        raise FormatError(message, kind=FormatErrorKind.UNSUPPORTED)
    if len(members) > 1:
        members = [member for member in members if member.filename.lower().endswith(_JSON)]
    if len(members) == 1:
        return _read_member(archive, members[0], limit)
    found = [
        source
        for source in (_read_member(archive, member, limit) for member in members)
        if _has_captions(source)
    ]
    if len(found) == 1:
        return found[0]
    message = (
        f"the zip archive must contain exactly one caption file (got {format_names(names) or 'no files'});"
        " extract the file to read"
    )
    raise FormatError(message, kind=FormatErrorKind.WRONG_MEMBERS)


def _has_captions(source: Source) -> bool:
    return re.search(rb'"(captions?|sentences)"\s*:', source.data) is not None


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int) -> Source:
    if member.flag_bits & 1:
        message = f"the file {member.filename!r} in the archive is encrypted; save it without encryption"
        raise FormatError(message, kind=FormatErrorKind.ENCRYPTED)
    what = f"the file {member.filename!r} in the archive"
    with archive.open(member) as file:
        return Source(_require_plain(read_bounded(file, limit, what), what), member.filename)
