"""Pictures in the texts of a challenge: only their pixels are stored."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image

from capeval_server.challenges.models import Challenge, Picture
from tests.server.drawings import bomb, drawn, pixels
from tests.server.kit import Someone

pytestmark = pytest.mark.django_db
PLACE = "/small/organize/pictures/"


def stored(olga: Someone, name: str, data: bytes) -> tuple[bytes, str]:
    """Upload a picture; return the content and the media type that visitors get."""
    olga.do(PLACE, file=SimpleUploadedFile(name, data))
    shown: Any = Client().get(f"/small/pictures/{name}")
    return b"".join(shown), shown["Content-Type"]


def test_only_pixels_are_stored(olga: Someone, challenge: Challenge) -> None:
    """Metadata, other content of the file and later frames are removed."""
    exif = Image.Exif()
    exif[0x010E] = "secret place"
    later = Image.new("RGB", (2, 2), "blue")
    for name, data, form in (
        ("a.jpg", drawn("JPEG", exif=exif), "JPEG"),
        ("b.png", drawn() + b"<script>secret</script>", "PNG"),
        ("c.gif", drawn("GIF", save_all=True, append_images=[later]) + b"/*secret*/", "PNG"),
        ("d.webp", drawn("WEBP", lossless=True, exif=exif), "PNG"),
    ):
        content, media_type = stored(olga, name, data)
        assert b"secret" in data
        assert b"secret" not in content
        assert media_type == f"image/{form.lower()}"
        kind, size, pixel = pixels(content)
        assert (kind, size) == (form, (2, 2))
        assert all(abs(one - other) < 3 for one, other in zip(pixel, (255, 0, 0), strict=True)), name


def test_pictures_are_upright_and_at_most_as_large_as_a_page(olga: Someone, challenge: Challenge) -> None:
    turned = Image.Exif()
    turned[0x0112] = 6
    content, _ = stored(olga, "a.jpg", drawn("JPEG", size=(4000, 1000), exif=turned))
    assert pixels(content)[1] == (400, 1600)


def test_transparency_remains(olga: Someone, challenge: Challenge) -> None:
    clear = drawn("PNG", transparency=(255, 0, 0))
    content, _ = stored(olga, "a.png", clear)
    # The color type of PNG with transparency.
    assert content[25] == 6


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bomb(), "must have at most 50,000,000 pixels"),
        (drawn(size=(50, 50))[:-40], "can&#x27;t be read ("),
        (b"GIF89a/*", "must be JPEG, PNG, WebP or GIF"),
    ],
    ids=["bomb", "cut", "polyglot"],
)
def test_other_files_are_refused(olga: Someone, challenge: Challenge, data: bytes, message: str) -> None:
    answer = olga.do(PLACE, 422, file=SimpleUploadedFile("a.png", data))
    assert f"&#x27;file&#x27; {message}" in answer.content.decode()
    assert not Picture.objects.exists()
