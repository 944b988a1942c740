"""Pictures for uploads, and their content."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

from PIL import Image

__all__ = ["bomb", "drawn", "pixels"]


def drawn(form: str = "PNG", color: str = "red", size: tuple[int, int] = (2, 2), **options: Any) -> bytes:
    """A picture of one color."""
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, form, **options)
    return out.getvalue()


def pixels(content: bytes) -> tuple[str | None, tuple[int, int], tuple[int, ...]]:
    """The format, the size and the first pixel of a picture."""
    with Image.open(io.BytesIO(content)) as found:
        pixel: Any = found.convert("RGB").getpixel((0, 0))
        return found.format, found.size, pixel


def bomb() -> bytes:
    """A small file of a picture with 900 million pixels."""
    whole = drawn()
    head = b"IHDR" + struct.pack(">II", 30_000, 30_000) + bytes([1, 0, 0, 0, 0])
    chunk = struct.pack(">I", len(head) - 4) + head + struct.pack(">I", zlib.crc32(head))
    return whole[:8] + chunk + whole[whole.index(b"IDAT") - 4 :]
