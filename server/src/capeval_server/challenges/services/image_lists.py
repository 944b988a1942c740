"""Image lists of splits: ids, file names, URLs, sizes and licenses."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from capeval.formats.images import ImageInfo, image_info, load_images
from capeval.formats.io.json import to_json_bytes
from capeval_server.challenges.models import ImageList, Split
from capeval_server.challenges.services.locks import upsert

__all__ = ["as_image_info", "get_images", "store_images"]


def store_images(split: Split, images: Sequence[ImageInfo]) -> None:
    """Store the image metadata of a split; without any, delete the stored metadata."""
    if not images:
        ImageList.objects.filter(split=split).delete()
        return
    data = to_json_bytes(image_info(images))
    values = {"content": zlib.compress(data), "sha256": hashlib.sha256(data).hexdigest()}
    upsert(ImageList.objects, values, split=split)


def get_images(split: Split) -> tuple[ImageInfo, ...]:
    """Return the images of a split in order, with their URLs if known."""
    known = ImageList.objects.filter(split=split).values_list("sha256", flat=True).first()
    images = _load(split.pk, known) if known else tuple(ImageInfo(id=image) for image in split.image_ids)
    if not split.image_url:
        return images
    return tuple(
        image if image.url else replace(image, url=split.get_image_url(image.id)) for image in images
    )


@lru_cache(maxsize=4)
def _load(split: int, sha256: str) -> tuple[ImageInfo, ...]:
    content = ImageList.objects.values_list("content", flat=True).get(split=split, sha256=sha256)
    return tuple(load_images(zlib.decompress(bytes(content))))


def as_image_info(split: Split) -> bytes:
    """Return the images of a split as a file in COCO's image_info format."""
    return to_json_bytes(image_info(get_images(split)))
