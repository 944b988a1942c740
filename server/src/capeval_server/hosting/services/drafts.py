"""Uploaded files that wait for confirmation, one per kind, user and challenge."""

from __future__ import annotations

import hashlib

from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import ConflictError

__all__ = ["drop_draft", "keep_draft", "read_draft"]


def _get_file_name(user: User, challenge: Challenge | None, kind: str) -> str:
    return f"drafts/{kind}-{challenge.pk if challenge else 'new'}-{user.pk}"


def keep_draft(user: User, challenge: Challenge | None, kind: str, data: bytes) -> str:
    """Store a file until it is confirmed, in place of the previous one.

    Returns:
        The SHA-256 of the file, which confirms it.

    Raises:
        OSError: The file can't be stored.
    """
    name = _get_file_name(user, challenge, kind)
    try:
        default_storage.delete(name)
        default_storage.save(name, ContentFile(data))
    except BaseException:
        default_storage.delete(name)
        raise
    return hashlib.sha256(data).hexdigest()


def read_draft(user: User, challenge: Challenge | None, kind: str, sha256: str) -> bytes:
    """Return the content of a confirmed file.

    Raises:
        ConflictError: The file no longer exists, or was replaced.
    """
    try:
        with default_storage.open(_get_file_name(user, challenge, kind)) as file:
            data: bytes = file.read()
    except FileNotFoundError:
        data = b""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ConflictError("the file to confirm no longer exists: upload it again")
    return data


def drop_draft(user: User, challenge: Challenge | None, kind: str) -> None:
    """Delete a file."""
    default_storage.delete(_get_file_name(user, challenge, kind))
