"""Zips of the image files of splits: checks, and storage."""

from __future__ import annotations

import hashlib
import io
import lzma
import stat
import uuid
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import PurePosixPath

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction

from capeval_server.challenges.models import ImageArchive, Split
from capeval_server.challenges.services.locks import upsert
from capeval_server.core.errors import ChallengeError

__all__ = [
    "MOST_BYTES",
    "check_image_archive",
    "delete_image_archive",
    "list_archived_images",
    "read_archived_images",
    "store_image_archive",
]

# An import holds the zip in memory. Larger data are downloaded through the split's links.
MOST_BYTES = 512 * 2**20
_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")
# Problems of a kind in a message.
_NAMED = 5
_ENCRYPTED = 0x1


def check_image_archive(name: str, data: bytes, file_names: Collection[str] = ()) -> None:
    """Check the zip of a split's image files.

    Its content is not decoded.

    Args:
        name: The name of the zip in error messages.
        data: Its content.
        file_names: The known file names of the split's images; empty if unknown.

    Raises:
        ChallengeError: The zip is invalid; the message lists all problems.

    Example:
        >>> import io, zipfile
        >>> from capeval_server.challenges.services.image_archives import check_image_archive
        >>> out = io.BytesIO()
        >>> with zipfile.ZipFile(out, "w") as archive:
        ...     archive.writestr("notes.txt", "")
        ...     archive.writestr("1.jpg", "")
        >>> check_image_archive("images.zip", out.getvalue(), ["2.jpg"])
        Traceback (most recent call last):
        capeval_server.core.errors.ChallengeError: images.zip: not .jpg, .jpeg, .png or .webp: 'notes.txt'; \
        of no image in the list: '1.jpg'
    """
    if len(data) > MOST_BYTES:
        raise ChallengeError(f"{name}: the zip must have at most {MOST_BYTES:,} bytes (got {len(data):,})")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise ChallengeError(f"{name} must be a zip ({error})") from None
    if not members:
        raise ChallengeError(f"{name}: the zip must contain at least 1 image (got 0)")
    found = _find_problems(members, set(file_names))
    problems = [f"{problem}: {_format_names(names)}" for problem, names in found.items() if names]
    unpacked = sum(member.file_size for member in members)
    if unpacked > MOST_BYTES:
        problems.append(f"the images must have at most {MOST_BYTES:,} bytes (got {unpacked:,})")
    if problems:
        raise ChallengeError(f"{name}: {'; '.join(problems)}")


def _find_problems(members: list[zipfile.ZipInfo], known: set[str]) -> dict[str, list[str]]:
    names = [member.filename for member in members]
    images = [name for name in names if _is_image(name)]
    counts = Counter(PurePosixPath(name).name for name in names)
    return {
        "not .jpg, .jpeg, .png or .webp": [name for name in names if not _is_image(name)],
        "not in the zip itself or one folder": [name for name in names if not _is_flat(name)],
        "links": [member.filename for member in members if stat.S_ISLNK(member.external_attr >> 16)],
        "encrypted": [member.filename for member in members if member.flag_bits & _ENCRYPTED],
        "several files with the same name": [name for name, count in counts.items() if count > 1],
        "of no image in the list": [
            name for name in images if known and not {name, PurePosixPath(name).name} & known
        ],
    }


def _is_image(name: str) -> bool:
    return name.lower().endswith(_SUFFIXES)


def _is_flat(name: str) -> bool:
    parts = name.split("/")
    return len(parts) <= 2 and not {"", ".", ".."} & set(parts) and "\\" not in name and name.isprintable()


def _format_names(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(map(repr, names[:_NAMED])) + more


def store_image_archive(split: Split, data: bytes, stored: list[str]) -> None:
    """Store the checked zip of a split's image files, in the caller's transaction.

    Args:
        split: The split.
        data: The content of the zip.
        stored: Receives the name of the stored file, which the caller deletes after a rollback.

    Raises:
        OSError: The file can't be stored.
    """
    digest = hashlib.sha256(data).hexdigest()
    before = ImageArchive.objects.filter(split=split).first()
    if before is not None and before.sha256 == digest:
        return
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        number = sum(not member.is_dir() for member in archive.infolist())
    # Noted first, so that a partially written file is also deleted.
    file = f"image_archives/{uuid.uuid4()}.zip"
    stored.append(file)
    default_storage.save(file, ContentFile(data))
    if before is not None:
        transaction.on_commit(partial(default_storage.delete, str(before.file)))
    values = {"file": file, "sha256": digest, "size": len(data), "number": number}
    upsert(ImageArchive.objects, values, split=split)


def delete_image_archive(split: Split) -> None:
    """Delete the zip of a split's image files, in the caller's transaction."""
    for archive in ImageArchive.objects.filter(split=split):
        transaction.on_commit(partial(default_storage.delete, str(archive.file)))
        archive.delete()


def list_archived_images(split: Split) -> list[str]:
    """Return the names of a split's stored image files, without folders; none without a zip.

    Raises:
        OSError: The zip can't be read.
    """
    stored = ImageArchive.objects.filter(split=split).first()
    if stored is None:
        return []
    with _open_archive(stored) as (_, members):
        return list(members)


def read_archived_images(split: Split, names: Iterable[str]) -> dict[str, bytes]:
    """Return the content of some of a split's stored image files by name.

    Raises:
        OSError: The zip can't be read.
    """
    with _open_archive(ImageArchive.objects.get(split=split)) as (archive, members):
        return {name: archive.read(members[name]) for name in names}


@contextmanager
def _open_archive(stored: ImageArchive) -> Iterator[tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]]:
    """Open a stored zip, with its files by name."""
    try:
        with stored.file.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            yield archive, {PurePosixPath(member.filename).name: member for member in members}
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, EOFError) as error:
        raise OSError(f"the zip of the images can't be read ({error})") from error
