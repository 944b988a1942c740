"""What is in an upload: one JSON file, or a zip of several, each checked before anything is stored."""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from typing import IO

from django.conf import settings

import capeval
from capeval.errors import FormatError
from capeval.messages import first_few, id_types
from capeval.types import ImageId
from capeval_server.challenges.models import Split
from capeval_server.errors import UploadError

__all__ = ["Upload", "check_results", "read_archive", "read_upload"]

_CHUNK = 2**16
_MOST_ENTRIES = 20
# A zip's list of entries is read as a whole, so what it can hold is counted before: each of its entries
# starts with these bytes, which compressed data has by chance once in 4 GB.
_LISTED, _MOST_LISTED = b"PK\x01\x02", 1000
_ARCHIVES = (b"PK", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!")
_DRIVE = re.compile(r"[A-Za-z]:")


class Upload:
    """A valid submission.

    Attributes:
        files: The bytes of the result file of each split, by the split's name.
        algorithm: The algorithm that the files' names name.
    """

    def __init__(self, files: dict[str, bytes], algorithm: str) -> None:
        self.files = files
        self.algorithm = algorithm


def read_upload(name: str, file: Iterable[bytes], splits: Sequence[Split]) -> Upload:
    """Checks an upload to a phase with some splits.

    Args:
        name: The name of the uploaded file.
        file: Its bytes, in chunks.
        splits: The splits that it must have results of.

    Raises:
        UploadError: It is not a valid submission; the error names the file in it that is wrong.
    """
    data = _bounded(file, settings.UPLOAD_BYTES, "the upload")
    entries = _unzipped(data) if data.startswith(_ARCHIVES[0]) else {name: data}
    named = {entry: _split_of(entry, splits) for entry in entries}
    for split in splits:
        if split.name not in {found.name for found, _ in named.values()}:
            raise UploadError(f"the upload must have {split.results!r}, the results of split {split.name!r}")
    algorithms = sorted({algorithm for _, algorithm in named.values()})
    if len(algorithms) > 1 or len(named) > len(splits):
        raise UploadError(f"the files must be of one algorithm (got {', '.join(map(repr, algorithms))})")
    for entry, content in entries.items():
        split = named[entry][0]
        check_results(entry, content, split.name, split.image_ids)
    return Upload({named[entry][0].name: content for entry, content in entries.items()}, algorithms[0])


def read_archive(file: Iterable[bytes]) -> dict[str, bytes]:
    """The files in a zip by their names. None may be a path or another archive.

    Args:
        file: The bytes of the zip, in chunks.

    Raises:
        UploadError: It is not a zip, or is too large or damaged; the error names the wrong file.
    """
    data = _bounded(file, settings.UPLOAD_BYTES, "the upload")
    if not data.startswith(_ARCHIVES[0]):
        raise UploadError("the upload must be a zip")
    entries = _unzipped(data)
    for entry, content in entries.items():
        if content.startswith(_ARCHIVES):
            raise UploadError("the file must not be another archive", entry=entry)
    return entries


def _bounded(chunks: Iterable[bytes], limit: int, what: str, entry: str | None = None) -> bytes:
    """All of the chunks. Bytes are counted as they come, since a declared size may be wrong."""
    kept, total = [], 0
    for chunk in chunks:
        total += len(chunk)
        if total > limit:
            raise UploadError(f"{what} must have at most {limit:,} bytes (got more)", entry=entry)
        kept.append(chunk)
    return b"".join(kept)


def _unzipped(data: bytes) -> dict[str, bytes]:
    if data.count(_LISTED) > _MOST_LISTED:
        raise UploadError(f"the zip must have at most {_MOST_ENTRIES} files (got more)")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _unpacked(archive)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError) as error:
        if isinstance(error, UploadError):
            raise
        raise UploadError(f"the zip is damaged ({error})") from None


def _unpacked(archive: zipfile.ZipFile) -> dict[str, bytes]:
    members = archive.infolist()
    if len(members) > _MOST_ENTRIES:
        raise UploadError(f"the zip must have at most {_MOST_ENTRIES} files (got {len(members)})")
    entries: dict[str, bytes] = {}
    left = settings.UNPACKED_BYTES
    for member in members:
        _check_member(member)
        if member.orig_filename in entries:
            raise UploadError("the zip must have each name once (got it twice)", entry=member.orig_filename)
        entries[member.orig_filename] = _member_data(archive, member, left)
        left -= len(entries[member.orig_filename])
    if not entries:
        raise UploadError("the zip must have at least one file (got none)")
    return entries


def _check_member(member: zipfile.ZipInfo) -> None:
    # `filename` ends at a zero byte, where another reader may go on.
    name = member.orig_filename
    mode = member.external_attr >> 16
    if name.startswith("/") or "\\" in name or "\0" in name or _DRIVE.match(name) or ".." in name.split("/"):
        raise UploadError("the name must be a plain file name, not a path", entry=name)
    if member.is_dir() or "/" in name:
        raise UploadError("the zip must hold files without folders", entry=name)
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise UploadError("the zip must hold plain files, no links or devices", entry=name)
    if member.flag_bits & 1:
        raise UploadError("the file must not be encrypted", entry=name)
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UploadError("the file must be stored or deflated", entry=name)


def _member_data(archive: zipfile.ZipFile, member: zipfile.ZipInfo, left: int) -> bytes:
    entry = member.orig_filename
    try:
        with archive.open(member) as file:
            return _bounded(_chunks(file), left, "the files, unpacked and together,", entry)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise UploadError(f"the file is damaged in the zip ({error})", entry=entry) from None


def _chunks(file: IO[bytes]) -> Iterable[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def _split_of(entry: str, splits: Sequence[Split]) -> tuple[Split, str]:
    for split in splits:
        algorithm = split.algorithm(entry)
        if algorithm is not None:
            return split, algorithm
    expected = " or ".join(repr(split.results) for split in splits)
    raise UploadError(f"the file must be named {expected}", entry=entry)


def check_results(entry: str, data: bytes, split: str, images: Sequence[ImageId]) -> None:
    """Checks a file of results.

    Args:
        entry: Its name.
        data: Its bytes.
        split: The name of the split that it is of.
        images: The split's images.

    Raises:
        UploadError: It is not a file of results, or not of these images.
    """
    if data.startswith(_ARCHIVES):
        raise UploadError("the file must be JSON (got another archive)", entry=entry)
    if data.lstrip()[:1] not in (b"[", b"{"):
        raise UploadError("the file must be JSON: a list or a mapping of captions", entry=entry)
    try:
        candidates = capeval.load_candidates(data, limit=settings.UNPACKED_BYTES)
    except FormatError as error:
        raise UploadError(error.message, entry=entry) from None
    _check_images(entry, candidates, split, images)


def _check_images(
    entry: str, candidates: capeval.Candidates, split: str, expected: Sequence[ImageId]
) -> None:
    known = set(expected)
    unknown = [image for image in candidates if image not in known]
    if unknown:
        types = id_types(unknown[0], expected[0])
        raise UploadError(f"{first_few(unknown)} not of split {split!r}{types}", entry=entry)
    missing = [image for image in expected if image not in candidates]
    if missing:
        raise UploadError(f"{first_few(missing)} without a caption", entry=entry)
