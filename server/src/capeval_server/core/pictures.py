"""Pictures that users upload: validated, upright, and without metadata or other content."""

from __future__ import annotations

import io
import struct
import warnings
from typing import TYPE_CHECKING, Literal

from capeval.errors import CapevalError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

__all__ = ["MOST_PIXELS", "PictureError", "encode_picture", "load_picture", "place_on_white"]

MOST_PIXELS = 50_000_000
# SVG can contain programs; other formats are rare, and their decoders are less tested.
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF")


class PictureError(CapevalError, ValueError):
    """File that is not an accepted picture. The message continues a sentence about the file."""


def load_picture(content: bytes) -> tuple[Picture, str]:
    """Decode the first frame of a picture.

    Args:
        content: The content of the file.

    Returns:
        The picture, upright, and the format of the file: `JPEG`, `PNG`, `WEBP` or `GIF`.

    Raises:
        PictureError: The file is not a picture in these formats, is damaged, or has too many pixels.
    """
    from PIL import Image as Pillow
    from PIL import ImageOps, UnidentifiedImageError

    too_large = f"must have at most {MOST_PIXELS:,} pixels"
    try:
        with warnings.catch_warnings():
            # Pillow's own limit is a warning; ours is checked before a pixel is read.
            warnings.simplefilter("ignore", Pillow.DecompressionBombWarning)
            found = Pillow.open(io.BytesIO(content), formats=_FORMATS)
            if found.width * found.height > MOST_PIXELS:
                raise PictureError(too_large)
            found.load()
            return ImageOps.exif_transpose(found) or found, str(found.format)
    except Pillow.DecompressionBombError:
        raise PictureError(too_large) from None
    except UnidentifiedImageError:
        raise PictureError("must be JPEG, PNG, WebP or GIF") from None
    except (OSError, SyntaxError, ValueError, struct.error) as error:
        if isinstance(error, PictureError):
            raise
        raise PictureError(f"can't be read ({error})") from None


def place_on_white(picture: Picture) -> Picture:
    """Return a picture in RGB with only its pixels, on a white background."""
    from PIL import Image as Pillow

    clean = Pillow.new("RGB", picture.size, "white")
    layered = picture.convert("RGBA")
    clean.paste(layered, mask=layered.getchannel("A"))
    return clean


def encode_picture(picture: Picture, form: Literal["JPEG", "PNG"], longest: int) -> bytes:
    """Encode the pixels of a picture, scaled down to a longest side in pixels.

    JPEG has a white background; PNG keeps transparency.
    """
    from PIL import Image as Pillow

    if form == "JPEG":
        clean = place_on_white(picture)
    else:
        layered = picture.convert("RGBA")
        clean = Pillow.new("RGBA", layered.size)
        clean.paste(layered)
    clean.thumbnail((longest, longest))
    out = io.BytesIO()
    options = {"quality": 88} if form == "JPEG" else {}
    clean.save(out, form, optimize=True, **options)
    return out.getvalue()
