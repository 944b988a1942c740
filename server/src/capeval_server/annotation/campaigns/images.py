"""Images of a campaign: validated, without metadata, in two sizes.

Stored files are named by the hash of the content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from capeval.formats.images import ImageInfo
from capeval_server.annotation.models import Campaign, Image
from capeval_server.core.errors import CampaignError
from capeval_server.core.pictures import PictureError, encode_picture, load_picture, place_on_white

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

__all__ = ["LARGE", "MOST_BYTES", "SMALL", "add_images", "check_picture", "render_picture"]

# Longest sides of the two sizes in pixels, and the limit of a file in bytes.
SMALL, LARGE = 480, 1600
MOST_BYTES = 20_000_000
_FOLDER = "annotation"


def add_images(
    campaign: Campaign,
    names: Iterable[str],
    read: Callable[[str], bytes],
    stored: list[str],
    sources: Mapping[str, ImageInfo],
) -> list[str]:
    """Add the images of a campaign, and return the problems of images that are not accepted.

    Args:
        campaign: The campaign.
        names: The distinct names by which the items refer to the images.
        read: Returns the content of an image by name.
        stored: Receives the names of the files that are stored.
        sources: The addresses and licenses of images, by name; others are unknown.

    Returns:
        A problem for each file that is missing, is not an accepted image, or is the same as another; or whose
        address or license is too long.

    Raises:
        OSError: A file can't be read or stored.
    """
    known: dict[str, str] = {}
    rows: list[Image] = []
    problems: list[str] = []
    for name in names:
        try:
            content = read(name)
            row = _build_row(campaign, name, hashlib.sha256(content).hexdigest(), sources.get(name))
            _reject_same(known, row)
            picture = _load_picture(name, content)
        except CampaignError as error:
            problems.append(str(error))
            continue
        row.width, row.height = picture.width, picture.height
        row.small, row.large = (_store(row.digest, size, picture, stored) for size in (SMALL, LARGE))
        rows.append(row)
    Image.objects.bulk_create(rows)
    return problems


def _reject_same(known: dict[str, str], row: Image) -> None:
    """Reject an image with the same content as another; `known` receives the others' names."""
    if row.digest in known:
        raise CampaignError(f"{row.name}: the image is the same as {known[row.digest]}")
    known[row.digest] = row.name


def _build_row(campaign: Campaign, name: str, digest: str, about: ImageInfo | None) -> Image:
    return Image(campaign=campaign, name=name, digest=digest, **_get_source(name, about))


def _get_source(name: str, about: ImageInfo | None) -> dict[str, str]:
    """Return the address, license and author of an image, if known."""
    if about is None:
        return {}
    found = {"source": about.url, "license": about.license or about.license_url, "author": about.author}
    for field, text in found.items():
        longest: int | None = getattr(Image._meta.get_field(field), "max_length", None)
        if longest is not None and len(text) > longest:
            raise CampaignError(
                f"{name}: its {field} must have at most {longest} characters (got {len(text):,})"
            )
    return found


def check_picture(name: str, content: bytes) -> None:
    """Validate an image for a campaign.

    Args:
        name: Name of the image in error messages.
        content: Content of the file.

    Raises:
        CampaignError: The image is not accepted.
    """
    _load_picture(name, content)


def render_picture(name: str, content: bytes) -> bytes:
    """Return the small version of an image, as workers see it.

    Raises:
        CampaignError: The image is not accepted.
    """
    return encode_picture(_load_picture(name, content), "JPEG", SMALL)


def _load_picture(name: str, content: bytes) -> Picture:
    """Return the first frame of an image, upright and without metadata."""
    if len(content) > MOST_BYTES:
        raise CampaignError(f"{name}: an image must have at most {MOST_BYTES:,} bytes (got {len(content):,})")
    try:
        return place_on_white(load_picture(content)[0])
    except PictureError as error:
        raise CampaignError(f"{name}: an image {error}") from None


def _store(digest: str, size: int, picture: Picture, stored: list[str]) -> str:
    """Store an image in one size. Equal images of all campaigns share a file."""
    name = f"{_FOLDER}/{digest}-{size}.jpg"
    if default_storage.exists(name):
        return name
    stored.append(name)
    return default_storage.save(name, ContentFile(encode_picture(picture, "JPEG", size)))
