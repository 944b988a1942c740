"""Zips of several files, such as the results of all splits of a challenge."""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib

from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.sources import LIMIT, read_bounded

__all__ = ["MOST_FILES", "is_archive", "read_zip"]

MOST_FILES = 20
"""The most files of a zip."""

# A zip's list of entries is read as a whole, so what it can hold is counted before: each of its entries
# starts with these bytes, which compressed data has by chance once in 4 GB.
_LISTED, _MOST_LISTED = b"PK\x01\x02", 1000
_ZIP = b"PK"
_ARCHIVES = (_ZIP, b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!")
_DRIVE = re.compile(r"[A-Za-z]:")


def is_archive(data: bytes) -> bool:
    """Whether some bytes begin as an archive of any common kind does."""
    return data.startswith(_ARCHIVES)


def read_zip(data: bytes, *, limit: int = LIMIT) -> dict[str, bytes]:
    """The files in a zip by their names. None may be a path or another archive.

    Args:
        data: The bytes of the zip.
        limit: The most bytes that its files may have together, unpacked.

    Raises:
        FormatError: It is not a zip, or is too large or damaged; `entry` is the name of the wrong file, if
            one file is wrong.
    """
    if not data.startswith(_ZIP):
        raise FormatError("the file must be a zip", kind=FormatErrorKind.UNSUPPORTED)
    if data.count(_LISTED) > _MOST_LISTED:
        raise _too_many("more")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _unpacked(archive, limit)
    except FormatError:
        raise
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError) as error:
        raise FormatError(f"the zip is damaged ({error})", kind=FormatErrorKind.DAMAGED) from None


def _too_many(found: object) -> FormatError:
    return FormatError(
        f"the zip must have at most {MOST_FILES} files (got {found})", kind=FormatErrorKind.WRONG_MEMBERS
    )


def _unpacked(archive: zipfile.ZipFile, limit: int) -> dict[str, bytes]:
    members = archive.infolist()
    if len(members) > MOST_FILES:
        raise _too_many(len(members))
    files: dict[str, bytes] = {}
    total = 0
    for member in members:
        name = member.orig_filename
        _check_member(member)
        if name in files:
            raise FormatError(
                "the zip must have each name once (got it twice)", kind=FormatErrorKind.DUPLICATE, entry=name
            )
        files[name] = _member_data(archive, member, total, limit)
        total += len(files[name])
        if is_archive(files[name]):
            raise FormatError("the file must not be another archive", kind=FormatErrorKind.NESTED, entry=name)
    if not files:
        raise FormatError("the zip must have at least one file (got none)", kind=FormatErrorKind.EMPTY)
    return files


def _check_member(member: zipfile.ZipInfo) -> None:
    # `filename` ends at a zero byte, where another reader may go on.
    name = member.orig_filename
    mode = member.external_attr >> 16
    problem, kind = "", FormatErrorKind.WRONG_MEMBERS
    if name.startswith("/") or "\\" in name or "\0" in name or _DRIVE.match(name) or ".." in name.split("/"):
        problem = "the name must be a plain file name, not a path"
    elif member.is_dir() or "/" in name:
        problem = "the zip must hold files without folders"
    elif mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        problem = "the zip must hold plain files, no links or devices"
    elif member.flag_bits & 1:
        problem, kind = "the file must not be encrypted", FormatErrorKind.ENCRYPTED
    elif member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        problem, kind = "the file must be stored or deflated", FormatErrorKind.UNSUPPORTED
    if problem:
        raise FormatError(problem, kind=kind, entry=name)


def _member_data(archive: zipfile.ZipFile, member: zipfile.ZipInfo, before: int, limit: int) -> bytes:
    name = member.orig_filename
    try:
        with archive.open(member) as file:
            return read_bounded(file, limit - before, "the file")
    except FormatError as error:
        message = f"the files of the zip, unpacked, must have at most {limit:,} bytes together (got more)"
        raise FormatError(message, kind=error.kind, entry=name) from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        message = f"the file is damaged in the zip ({error})"
        raise FormatError(message, kind=FormatErrorKind.DAMAGED, entry=name) from None
