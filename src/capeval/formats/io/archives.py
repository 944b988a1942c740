"""Zip archives of several files, such as the results for several splits."""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib

from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.sources import LIMIT, read_bounded

__all__ = ["MOST_FILES", "is_archive", "is_zip", "read_zip"]

MOST_FILES = 20
"""The maximum number of files in a zip."""

# zipfile reads the whole central directory, so its entries are counted first. Each entry starts with these
# bytes, which occur in compressed data by chance once in 4 GB.
_LISTED, _MOST_LISTED = b"PK\x01\x02", 1000
_ZIP = b"PK"
_ARCHIVES = (_ZIP, b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!")
_DRIVE = re.compile(r"[A-Za-z]:")


def is_archive(data: bytes) -> bool:
    """Return whether data starts like an archive or compressed file of a common type."""
    return data.startswith(_ARCHIVES)


def is_zip(name: str, data: bytes) -> bool:
    """Return whether a file is supposed to be a zip, by its name or its first bytes."""
    return data.startswith(_ZIP) or name.lower().endswith(".zip")


def read_zip(data: bytes, *, limit: int = LIMIT) -> dict[str, bytes]:
    """Return the content of the files in a zip by name.

    If all files are in one folder, it is removed from their names. Other paths and nested archives are
    rejected. Files that macOS adds to zips are skipped.

    Args:
        data: The bytes of the zip.
        limit: The maximum total size of the decompressed files, in bytes.

    Raises:
        FormatError: The file is not a zip, or is too large, damaged or rejected; `entry` is the name of the
            invalid file, if there is one.
    """
    if not data.startswith(_ZIP):
        raise FormatError(f"the file is not a zip ({_describe(data)})", kind=FormatErrorKind.UNSUPPORTED)
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise FormatError("the file is not a zip, or is truncated", kind=FormatErrorKind.DAMAGED)
    if data.count(_LISTED) > _MOST_LISTED:
        raise _make_count_error("more")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _unpack(archive, limit)
    except FormatError:
        raise
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError) as error:
        raise FormatError(f"the zip is damaged ({error})", kind=FormatErrorKind.DAMAGED) from None


def _make_count_error(found: object) -> FormatError:
    return FormatError(
        f"the zip must have at most {MOST_FILES} files (got {found})", kind=FormatErrorKind.WRONG_MEMBERS
    )


def _describe(data: bytes) -> str:
    if not data:
        return "it is empty"
    return "it is a different type of archive" if is_archive(data) else f"it starts with {data[:8]!r}"


def _unpack(archive: zipfile.ZipFile, limit: int) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    total = 0
    for name, member in _strip_folder(_list_members(archive)):
        if name in files:
            raise FormatError(
                "the zip contains two files with this name", kind=FormatErrorKind.DUPLICATE, entry=name
            )
        files[name] = _read_member(archive, member, total, limit)
        total += len(files[name])
        if is_archive(files[name]):
            raise FormatError("the file must not be another archive", kind=FormatErrorKind.NESTED, entry=name)
    return files


def _list_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the validated files of a zip, without folders and files that macOS adds."""
    listed = archive.infolist()
    for member in listed:
        _check_member(member)
    members = [one for one in listed if not one.is_dir() and not _is_from_macos(one.orig_filename)]
    if len(members) > MOST_FILES:
        raise _make_count_error(len(members))
    if not members:
        found = "only folders and files that macOS adds" if listed else "none"
        raise FormatError(
            f"the zip is empty; it must contain at least one file (got {found})", kind=FormatErrorKind.EMPTY
        )
    return members


def _is_from_macos(name: str) -> bool:
    *folders, base = name.split("/")
    return folders[:1] == ["__MACOSX"] or base == ".DS_Store" or base.startswith("._")


def _strip_folder(members: list[zipfile.ZipInfo]) -> list[tuple[str, zipfile.ZipInfo]]:
    """Return the members with their names, without a folder that contains all of them."""
    folder = members[0].orig_filename.partition("/")[0] + "/"
    if not all(member.orig_filename.startswith(folder) for member in members):
        folder = ""
    named = [(member.orig_filename.removeprefix(folder), member) for member in members]
    for name, member in named:
        if not name or "/" in name:
            raise FormatError(
                "the files of the zip must be at the top level, or all in one folder",
                kind=FormatErrorKind.WRONG_MEMBERS,
                entry=member.orig_filename,
            )
    return named


def _check_member(member: zipfile.ZipInfo) -> None:
    # `filename` ends at a null byte, but other readers may use the whole name.
    name = member.orig_filename
    mode = member.external_attr >> 16
    problem, kind = "", FormatErrorKind.WRONG_MEMBERS
    if name.startswith("/") or "\\" in name or "\0" in name or _DRIVE.match(name) or ".." in name.split("/"):
        problem = "the name must be a plain file name, not a path"
    elif mode and stat.S_IFMT(mode) not in (0, stat.S_IFDIR if member.is_dir() else stat.S_IFREG):
        problem = "the zip must contain only regular files, not links or devices"
    elif member.flag_bits & 1:
        problem, kind = "the file must not be encrypted", FormatErrorKind.ENCRYPTED
    elif member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        problem, kind = (
            "the file must be uncompressed or compressed with Deflate",
            FormatErrorKind.UNSUPPORTED,
        )
    if problem:
        raise FormatError(problem, kind=kind, entry=name)


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, before: int, limit: int) -> bytes:
    name = member.orig_filename
    try:
        with archive.open(member) as file:
            return read_bounded(file, limit - before, "the file")
    except FormatError as error:
        message = f"the decompressed files of the zip must have at most {limit:,} bytes in total (got more)"
        raise FormatError(message, kind=error.kind, entry=name) from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        message = f"the file is damaged inside the zip ({error})"
        raise FormatError(message, kind=FormatErrorKind.DAMAGED, entry=name) from None
