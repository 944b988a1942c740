"""Template context of an item's image."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from capeval_server.annotation.campaigns.images import LARGE, SMALL
from capeval_server.annotation.models import Assignment, Image

__all__ = ["list_credits", "picture_of"]


def picture_of(image: Image) -> dict[str, Any]:
    """Return the content warning of an image, and the sizes of its large and small version."""
    (width, height), (small, _) = (_scale(image, longest) for longest in (LARGE, SMALL))
    return {"warning": image.warning, "width": width, "height": height, "small_width": small}


def list_credits(rows: Iterable[Assignment], images: Mapping[int, Image]) -> list[tuple[int, str]]:
    """Return the place, and the author and license, of each assignment with an image that has them."""
    found = []
    for row in rows:
        image = images.get(row.item.image_id or 0)
        if credit := ", ".join(filter(None, (image.author, image.license))) if image else "":
            found.append((row.place, credit))
    return found


def _scale(image: Image, longest: int) -> tuple[int, int]:
    scale = min(1, longest / max(image.width, image.height))
    return round(image.width * scale), round(image.height * scale)
