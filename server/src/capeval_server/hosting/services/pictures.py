"""Pictures in a challenge's texts, uploaded by organizers."""

from __future__ import annotations

import re
import uuid
from functools import partial
from typing import Literal

from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction

from capeval_server.audit.models import record
from capeval_server.challenges.models import Challenge, Picture
from capeval_server.challenges.services.locks import lock_challenge
from capeval_server.core.errors import ChallengeError
from capeval_server.core.pictures import PictureError, encode_picture, load_picture
from capeval_server.hosting.services.challenge_import import delete_files_on_error

__all__ = ["LARGEST", "add", "remove"]

# Maximum bytes of a picture, and maximum number of pictures of a challenge.
LARGEST, _MOST = 2 * 2**20, 50
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,94}\.(png|jpe?g|webp|gif)", re.ASCII | re.IGNORECASE)
# Longest side of the stored picture in pixels.
_LONGEST_SIDE = 1600


def add(user: User, challenge: Challenge, name: str, data: bytes) -> Picture:
    """Add a picture, or replace the picture with the same name.

    Only the pixels are stored, as JPEG or PNG.

    Raises:
        ChallengeError: The picture is too large, damaged or in another format, or its name is invalid.
        OSError: The picture can't be stored.
    """
    if not _NAME.fullmatch(name):
        raise ChallengeError(
            "'file' must have a name of letters, digits, '.', '-' and '_' that ends in .png, .jpg, .webp or"
            f" .gif (got {name[:100]!r})"
        )
    if len(data) > LARGEST:
        raise ChallengeError(f"'file' must have at most {LARGEST:,} bytes (got {len(data):,})")
    content, media_type = _encode(data)
    with delete_files_on_error() as stored, lock_challenge(challenge):
        before = Picture.objects.filter(challenge=challenge, name=name).first()
        if before is None and challenge.pictures.count() >= _MOST:
            raise ChallengeError(f"a challenge may have at most {_MOST} pictures: remove one first")
        picture = before or Picture(challenge=challenge, name=name)
        old, picture.media_type = str(picture.file), media_type
        file_name = str(uuid.uuid4())
        stored.append(f"pictures/{file_name}")
        picture.file.save(file_name, ContentFile(content), save=False)
        picture.save()
        if old:
            transaction.on_commit(partial(default_storage.delete, old))
        record(user, challenge, f"{'replaced' if before else 'added'} the picture {name}")
    return picture


def _encode(data: bytes) -> tuple[bytes, str]:
    """Return the pixels of a picture as a file without other content, and its media type."""
    try:
        picture, found = load_picture(data)
    except PictureError as error:
        raise ChallengeError(f"'file' {error}") from None
    form: Literal["JPEG", "PNG"] = "JPEG" if found == "JPEG" else "PNG"
    return encode_picture(picture, form, _LONGEST_SIDE), f"image/{form.lower()}"


def remove(user: User, picture: Picture) -> None:
    """Remove a picture."""
    with lock_challenge(picture.challenge):
        transaction.on_commit(partial(default_storage.delete, str(picture.file)))
        record(user, picture.challenge, f"removed the picture {picture.name}")
        picture.delete()
