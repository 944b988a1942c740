"""Template context of an item's image."""

from __future__ import annotations

from typing import Any

from capeval_server.annotation.campaigns.images import LARGE, SMALL
from capeval_server.annotation.models import Image

__all__ = ["picture_of"]


def picture_of(image: Image) -> dict[str, Any]:
    """Return the content warning of an image, and the sizes of its large and small version."""
    (width, height), (small, _) = (_scale(image, longest) for longest in (LARGE, SMALL))
    return {"warning": image.warning, "width": width, "height": height, "small_width": small}


def _scale(image: Image, longest: int) -> tuple[int, int]:
    scale = min(1, longest / max(image.width, image.height))
    return round(image.width * scale), round(image.height * scale)
