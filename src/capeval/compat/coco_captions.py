"""The type of the captions that `COCOEvalCap` scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

__all__ = ["CocoCaptions"]


class CocoCaptions(Protocol):
    """The required part of the interface of `pycocotools.coco.COCO`."""

    @property
    def imgToAnns(self) -> Mapping[Any, Sequence[Mapping[str, Any]]]:  # noqa: N802
        """The annotations of each image."""

    def getImgIds(self) -> Iterable[Any]:  # noqa: N802
        """Return the ids of the images."""
