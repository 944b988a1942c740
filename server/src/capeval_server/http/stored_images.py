"""Responses with stored images."""

from __future__ import annotations

from django.core.files.storage import default_storage
from django.http import FileResponse

__all__ = ["send_jpeg"]


def send_jpeg(name: str) -> FileResponse:
    """Return the response with a stored JPEG file, without its name.

    Raises:
        OSError: The file can't be read.
    """
    sent = FileResponse(default_storage.open(name), content_type="image/jpeg")
    sent["Content-Disposition"] = 'inline; filename="image"'
    return sent
