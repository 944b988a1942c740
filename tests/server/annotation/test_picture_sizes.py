"""Sizes of an item's picture on work pages."""

from __future__ import annotations

import pytest

from capeval_server.annotation.models import Image
from capeval_server.web.worker.pictures import picture_of


@pytest.mark.parametrize(
    ("size", "large", "small_width"),
    [
        ((640, 480), (640, 480), 480),
        ((480, 640), (480, 640), 360),
        ((3200, 1600), (1600, 800), 480),
        ((300, 200), (300, 200), 300),
    ],
)
def test_pictures_are_at_most_1600_and_480_pixels_long(
    size: tuple[int, int], large: tuple[int, int], small_width: int
) -> None:
    found = picture_of(Image(width=size[0], height=size[1]))
    assert (found["width"], found["height"], found["small_width"]) == (*large, small_width)
