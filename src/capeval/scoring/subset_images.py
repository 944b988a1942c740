"""Images of subsets in reports: their number and a fingerprint of their ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from capeval.data.captions import ImageId

__all__ = ["SubsetImages"]


@dataclass(frozen=True, kw_only=True)
class SubsetImages:
    """The images of a subset, as reports describe them.

    Attributes:
        images: The number of images.
        digest: A fingerprint of the ids, which does not depend on their order.
    """

    images: int
    digest: str

    @classmethod
    def of(cls, image_ids: Iterable[ImageId]) -> Self:
        """Return the description of images."""
        from hashlib import sha256

        texts = sorted(map(str, image_ids))
        # Surrogates occur in file names that are not UTF-8.
        return cls(
            images=len(texts), digest=sha256("\n".join(texts).encode(errors="surrogatepass")).hexdigest()[:8]
        )

    def __str__(self) -> str:
        images = "1 image" if self.images == 1 else f"{self.images:,} images"
        return f"{images} (digest {self.digest})"
