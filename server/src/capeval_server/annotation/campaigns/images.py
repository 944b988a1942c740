"""Images of a campaign: validated, without metadata, in two sizes.

Stored files are named by the hash of the content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from capeval.formats.images import ImageInfo
from capeval_server.annotation.models import Campaign, Image
from capeval_server.core.errors import CampaignError, ConflictError
from capeval_server.core.pictures import PictureError, encode_picture, load_picture, place_on_white

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

__all__ = [
    "LARGE",
    "MOST_BYTES",
    "SMALL",
    "BuiltImages",
    "build_images",
    "check_picture",
    "copy_images",
    "insert_images",
    "render_picture",
]

# Longest sides of the two sizes in pixels, and the limit of a file in bytes.
SMALL, LARGE = 480, 1600
MOST_BYTES = 20_000_000
_FOLDER = "annotation"
# Number of rows in a query: SQLite limits the number of parameters.
_ROWS_AT_ONCE = 400


@dataclass(frozen=True, kw_only=True)
class BuiltImages:
    """New images of a campaign: their files are stored, their rows are not.

    Attributes:
        rows: The rows of the new images.
        same: Earlier images of the campaign, by the names of files with the same content.
        problems: A problem for each file that is missing, is not an accepted image, is the same as another
            one, has the name of a different image of the campaign, or has a too long address or license.
    """

    rows: list[Image] = field(default_factory=list)
    same: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def build_images(
    campaign: Campaign,
    names: Iterable[str],
    read: Callable[[str], bytes],
    stored: list[str],
    sources: Mapping[str, ImageInfo],
) -> BuiltImages:
    """Validate and store the files of new images of a campaign.

    Args:
        campaign: The campaign.
        names: The distinct names by which the items refer to the images.
        read: Returns the content of an image by name.
        stored: Receives the names of the files that are stored.
        sources: The addresses and licenses of images, by name; others are unknown.

    Raises:
        OSError: A file can't be read or stored.
    """
    earlier = {row.digest: row for row in campaign.images.all()}
    taken = {row.name for row in earlier.values()}
    known: dict[str, str] = {}
    found = BuiltImages()
    for name in names:
        try:
            content = read(name)
            row = _build_row(campaign, name, hashlib.sha256(content).hexdigest(), sources.get(name))
            if row.digest in earlier:
                found.same[name] = earlier[row.digest].pk
                continue
            _reject_same(known, row)
            _reject_taken(taken, name)
            picture = _load_picture(name, content)
        except CampaignError as error:
            found.problems.append(str(error))
            continue
        row.width, row.height = picture.width, picture.height
        _store(row, picture, stored)
        found.rows.append(row)
    return found


def insert_images(rows: Sequence[Image], stored: Collection[str]) -> None:
    """Insert the rows of new images, within a transaction.

    Args:
        rows: The rows.
        stored: The names of the files that were stored for them. Other files belong to other campaigns too.

    Raises:
        ConflictError: The last other campaign with such a file was deleted at the same time.
    """
    new = set(stored)
    shared = [row for row in rows if row.small not in new]
    for start in range(0, len(shared), _ROWS_AT_ONCE):
        some = {row.digest: row.small for row in shared[start : start + _ROWS_AT_ONCE]}
        # The lock keeps the rows, and so their files, until the new rows are committed.
        others = Image.objects.select_for_update(no_key=True).filter(digest__in=some).order_by("pk")
        if not some.items() <= set(others.values_list("digest", "small")):
            raise ConflictError(
                "another campaign with the same images was deleted at the same time: try again"
            )
    Image.objects.bulk_create(rows)


def copy_images(source: Campaign, campaign: Campaign, names: Collection[str]) -> None:
    """Copy the images of a campaign with some names to another campaign, which shares their files.

    Raises:
        CampaignError: The other campaign no longer exists.
    """
    # The lock keeps the campaign, and so its files, until the copies are committed.
    if not Campaign.objects.select_for_update(no_key=True).filter(pk=source.pk).exists():
        raise CampaignError(f"the copied campaign {source.slug} no longer exists")
    rows = [row for row in source.images.order_by("pk") if row.name in names]
    for row in rows:
        row.pk, row.campaign = None, campaign
    Image.objects.bulk_create(rows)


def _reject_same(known: dict[str, str], row: Image) -> None:
    """Reject an image with the same content as another; `known` receives the others' names."""
    if row.digest in known:
        raise CampaignError(f"{row.name}: the image is the same as {known[row.digest]}")
    known[row.digest] = row.name


def _reject_taken(taken: Collection[str], name: str) -> None:
    """Reject an image with the name of a different image of the campaign."""
    if name in taken:
        raise CampaignError(f"{name}: the campaign has a different image with this name; rename the file")


def _build_row(campaign: Campaign, name: str, digest: str, about: ImageInfo | None) -> Image:
    return Image(campaign=campaign, name=name, digest=digest, **_get_source(name, about))


def _get_source(name: str, about: ImageInfo | None) -> dict[str, str]:
    """Return the address, license and author of an image, if known."""
    if about is None:
        return {}
    found = {"source": about.url, "license": about.license or about.license_url, "author": about.author}
    for part, text in found.items():
        longest: int | None = getattr(Image._meta.get_field(part), "max_length", None)
        if longest is not None and len(text) > longest:
            raise CampaignError(
                f"{name}: its {part} must have at most {longest} characters (got {len(text):,})"
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


def _store(row: Image, picture: Picture, stored: list[str]) -> None:
    """Store an image in both sizes. Equal images of all campaigns share the files."""
    same = Image.objects.filter(digest=row.digest).order_by("pk").first()
    if same is not None:
        row.small, row.large = same.small, same.large
        return
    for name, size in (("small", SMALL), ("large", LARGE)):
        content = ContentFile(encode_picture(picture, "JPEG", size))
        file = default_storage.save(f"{_FOLDER}/{row.digest}-{size}.jpg", content)
        stored.append(file)
        setattr(row, name, file)
