"""Reads the bytes of a file up to a limit, and unpacks gzip and zip."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from capeval.errors import FormatError, FormatErrorKind

if TYPE_CHECKING:
    import gzip
    import zipfile

__all__ = ["LIMIT", "File", "Source", "naming", "read_bounded", "read_source"]

File = str | Path | bytes
"""A file: its path, or its bytes."""

LIMIT = 2**31
"""The most bytes that a file may have, unpacked: 2 GiB, 32 times the largest file of COCO."""

_CHUNK = 2**20
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_EMPTY_ZIP = b"PK\x05\x06"


class Source:
    """The content of a file.

    Attributes:
        data: The bytes, unpacked.
        name: The file's name in lower case, without `.gz`; for a zip archive, the name of the file in it.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name.lower().removesuffix(".gz")


def read_source(file: File, limit: int = LIMIT, *, name: str = "") -> Source:
    """Reads a file, and unpacks it where its first bytes are those of gzip or zip.

    Args:
        file: The path of the file, or its bytes.
        limit: The most bytes that the file may have, also unpacked.
        name: A name for bytes.

    Raises:
        FormatError: The archive is damaged, is encrypted or does not hold exactly one JSON file, or
            there are more than `limit` bytes.
        OSError: The file can't be read.
    """
    if isinstance(file, bytes):
        _check_size(len(file), limit, "the file")
        data = file
    else:
        name = Path(file).name
        data = _file_bytes(Path(file), limit)
    if data.startswith(_GZIP):
        return Source(_gunzipped(data, limit), name)
    if data.startswith((_ZIP, _EMPTY_ZIP)):
        return _unzipped(data, limit)
    return Source(data, name)


@contextmanager
def naming(file: File, name: str = "") -> Iterator[None]:
    """Adds the file to a `FormatError`: its path, or the name of its bytes if they have one."""
    try:
        yield
    except FormatError as error:
        path = name if isinstance(file, bytes) else file
        raise (error.in_file(path) if path else error) from None


def _file_bytes(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        size = os.fstat(file.fileno())
        # One read of a file of known size takes half the time of many.
        first = min(size.st_size, limit) + 1 if stat.S_ISREG(size.st_mode) else _CHUNK
        return read_bounded(file, limit, "the file", first)


def _check_size(size: int, limit: int, what: str) -> None:
    if size > limit:
        raise FormatError(
            f"{what} must have at most {limit:,} bytes (got more)", kind=FormatErrorKind.TOO_LARGE
        )


def read_bounded(file: IO[bytes] | gzip.GzipFile, limit: int, what: str, first: int = _CHUNK) -> bytes:
    """All of a file. Bytes are counted as they come, since the size that an archive states may be wrong.

    Raises:
        FormatError: It has more than `limit` bytes; `what` names it.
    """
    chunks = []
    total, size = 0, first
    while chunk := file.read(size):
        total, size = total + len(chunk), _CHUNK
        _check_size(total, limit, what)
        chunks.append(chunk)
    return b"".join(chunks)


def _gunzipped(data: bytes, limit: int) -> bytes:
    import gzip
    import io
    import zlib

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return read_bounded(file, limit, "the unpacked file")
    except EOFError:
        raise FormatError(
            "the gzip file ends too early (truncated?)", kind=FormatErrorKind.TRUNCATED
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"the gzip file is damaged ({error})", kind=FormatErrorKind.DAMAGED) from None


def _unzipped(data: bytes, limit: int) -> Source:
    import io
    import lzma
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            member = _only_member(archive)
            with archive.open(member) as file:
                unpacked = read_bounded(file, limit, f"the file {member.filename!r} in the archive")
    except NotImplementedError as error:
        raise FormatError(
            f"the zip archive can't be unpacked ({error})", kind=FormatErrorKind.UNSUPPORTED
        ) from None
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError) as error:
        raise FormatError(f"the zip archive is damaged ({error})", kind=FormatErrorKind.DAMAGED) from None
    if unpacked.startswith((_GZIP, _ZIP)):
        message = f"the file {member.filename!r} in the archive must be JSON itself (got another archive)"
        raise FormatError(message, kind=FormatErrorKind.NESTED)
    return Source(unpacked, member.filename)


def _only_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [
        member
        for member in archive.infolist()
        # Files that macOS adds to archives.
        if not member.is_dir() and not member.filename.startswith("__MACOSX/")
    ]
    names = [member.filename for member in members]
    if len(members) != 1 or not names[0].lower().endswith((".json", ".jsonl", ".ndjson")):
        found = ", ".join(repr(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")
        message = f"the zip archive must hold one JSON file and nothing else (got {found or 'nothing'})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_MEMBERS)
    if members[0].flag_bits & 1:
        message = f"the file {names[0]!r} in the archive must not be encrypted"
        raise FormatError(message, kind=FormatErrorKind.ENCRYPTED)
    return members[0]
