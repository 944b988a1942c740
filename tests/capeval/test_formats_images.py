"""Lists of images to caption."""

from __future__ import annotations

import json
from typing import Any

import pytest

from capeval.errors import FormatError
from capeval.formats.images import ImageInfo, image_info, load_images

LICENSES = [{"id": 3, "name": "CC BY 2.0", "url": "https://licenses.example.org/by"}]


def file(*rows: Any, **more: Any) -> bytes:
    return json.dumps({"images": list(rows), "licenses": LICENSES, **more}).encode()


def test_coco_and_nocaps() -> None:
    coco = {"id": 7, "file_name": "a.jpg", "coco_url": "https://a", "flickr_url": "https://f", "license": 3}
    nocaps = {
        "id": 0,
        "open_images_id": "x",
        "coco_url": "https://b",
        "width": 640,
        "height": 480,
        "license": 0,
    }
    assert load_images(file(coco, nocaps)) == [
        ImageInfo(
            id=7,
            file_name="a.jpg",
            url="https://a",
            license="CC BY 2.0",
            license_url="https://licenses.example.org/by",
        ),
        ImageInfo(id=0, url="https://b", width=640, height=480),
    ]


def test_back_and_forth() -> None:
    images = [
        ImageInfo(id="a", file_name="a.jpg", license="x", license_url="https://x"),
        ImageInfo(id="b", url="https://b", width=1, height=2, license="y"),
        ImageInfo(id="c"),
    ]
    assert load_images(json.dumps(image_info(images)).encode()) == images


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[]", "the file must be an object"),
        (b"{}", "must contain a list 'images'"),
        (file({"id": 1}, annotations=[{"caption": "A secret."}]), "must not have 'annotations'"),
        (file({"file_name": "a"}), r"images\[0\] must have the key 'id'"),
        (file({"id": 1}, {"id": 1}), r"duplicate image id 1 in images\[1\]\.id"),
        (file({"id": 1, "width": 0}), r"images\[0\]\.width must be an integer of at least 1 \(got 0\)"),
        (file({"id": 1, "file_name": 3}), r"images\[0\]\.file_name must be a string \(got 3\)"),
    ],
)
def test_what_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        load_images(data, name="images.json")
    assert "A secret" not in str(caught.value)
