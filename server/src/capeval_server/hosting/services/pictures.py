"""Pictures in a challenge's texts: uploaded by organizers, served from this server."""

from __future__ import annotations

import re
import uuid
from functools import partial

from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction

from capeval_server.audit.models import record
from capeval_server.challenges.models import Challenge, Picture
from capeval_server.challenges.services.locks import held
from capeval_server.core.errors import ChallengeError
from capeval_server.hosting.services.challenge_import import taking_back

__all__ = ["LARGEST", "add", "remove"]

# The most bytes of a picture, and the most pictures of a challenge.
LARGEST, _MOST = 2 * 2**20, 50
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,94}\.(png|jpe?g|webp|gif)", re.ASCII | re.IGNORECASE)
# How files begin. SVG is not among them, since it can hold scripts.
_BEGINNINGS = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}


def add(user: User, challenge: Challenge, name: str, data: bytes) -> Picture:
    """Adds a picture, or replaces that of the same name.

    Raises:
        ChallengeError: It is too large, of another kind, or its name is none that texts can have.
        OSError: It can't be stored.
    """
    media_type = next((kind for kind, begins in _BEGINNINGS.items() if begins.match(data)), None)
    if not _NAME.fullmatch(name):
        raise ChallengeError(
            "'file' must have a name of letters, digits, '.', '-' and '_' that ends in .png, .jpg, .webp or"
            f" .gif (got {name[:100]!r})"
        )
    if media_type is None:
        raise ChallengeError("'file' must be a picture: PNG, JPEG, WebP or GIF (got another kind of file)")
    if len(data) > LARGEST:
        raise ChallengeError(f"'file' must have at most {LARGEST:,} bytes (got {len(data):,})")
    with taking_back() as stored, held(challenge):
        before = Picture.objects.filter(challenge=challenge, name=name).first()
        if before is None and challenge.pictures.count() >= _MOST:
            raise ChallengeError(f"a challenge may have {_MOST} pictures")
        picture = before or Picture(challenge=challenge, name=name)
        old, picture.media_type = str(picture.file), media_type
        file_name = str(uuid.uuid4())
        stored.append(f"pictures/{file_name}")
        picture.file.save(file_name, ContentFile(data), save=False)
        picture.save()
        if old:
            transaction.on_commit(partial(default_storage.delete, old))
        record(user, challenge, f"{'replaced' if before else 'added'} the picture {name}")
    return picture


def remove(user: User, picture: Picture) -> None:
    """Removes a picture."""
    with held(picture.challenge):
        transaction.on_commit(partial(default_storage.delete, str(picture.file)))
        record(user, picture.challenge, f"removed the picture {picture.name}")
        picture.delete()
