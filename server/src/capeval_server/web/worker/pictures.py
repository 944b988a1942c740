"""Template context of an item's image."""

from __future__ import annotations

from typing import Any

from capeval_server.annotation.campaigns.images import LARGE
from capeval_server.annotation.models import Image

__all__ = ["picture_of"]


def picture_of(image: Image) -> dict[str, Any]:
    """Return the content warning of an image, and the size of its large version."""
    scale = min(1, LARGE / max(image.width, image.height))
    width, height = round(image.width * scale), round(image.height * scale)
    return {"warning": image.warning, "width": width, "height": height}
