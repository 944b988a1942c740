"""What a page needs to show the picture of an item."""

from __future__ import annotations

from typing import Any

from capeval_server.annotation.campaigns.images import LARGE
from capeval_server.annotation.models import Image

__all__ = ["picture_of"]


def picture_of(image: Image) -> dict[str, Any]:
    """The warning of a picture, and its size as it is sent in full."""
    scale = min(1, LARGE / max(image.width, image.height))
    width, height = round(image.width * scale), round(image.height * scale)
    return {"warning": image.warning, "width": width, "height": height}
