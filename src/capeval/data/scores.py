"""Scores of one metric, and their signatures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeAlias

from capeval import _native
from capeval.data.captions import ImageId, References

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Digest", "FloatArray", "Scores", "Signature"]

FloatArray: TypeAlias = "NDArray[np.float64]"


class Digest:
    """A fingerprint of references: 8 hexadecimal digits, of the ids and captions of all images in any order.

    It is the sum of the fingerprints of the images, so those of parts add up to that of the whole. It is
    computed when it is first read or compared, since most callers never do that.
    """

    def __init__(self, captions: References) -> None:
        self._captions = captions

    @classmethod
    def of_images(cls, fingerprints: NDArray[np.uint64], counts: NDArray[np.int64]) -> Self:
        """The digest of images of which the fingerprints and the numbers of captions are known."""
        digest = cls.__new__(cls)
        digest.__dict__.update(fingerprints=fingerprints, counts=counts)
        return digest

    @classmethod
    def of_total(cls, total: int) -> Self:
        """The digest with that sum of the fingerprints of images."""
        digest = cls.__new__(cls)
        digest.__dict__["total"] = total
        return digest

    @cached_property
    def fingerprints(self) -> NDArray[np.uint64]:
        """The fingerprint of each image, in their order."""
        return self._captions.native.fingerprints()

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of captions of each image, in their order."""
        return self._captions.counts

    @cached_property
    def total(self) -> int:
        """The sum of the fingerprints, in 64 bits."""
        return int(self.fingerprints.sum(dtype="uint64"))

    def __str__(self) -> str:
        return f"{self.total:016x}"[:8]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Digest):
            return NotImplemented
        return self is other or self.total == other.total

    def __hash__(self) -> int:
        return hash(self.total)

    def __repr__(self) -> str:
        return f"<Digest: {self}>"

    def __reduce__(self) -> tuple[Callable[..., Digest], tuple[object, ...]]:
        # Without the captions, which would otherwise be in the pickle of every report.
        if "_captions" in self.__dict__ or "fingerprints" in self.__dict__:
            return Digest.of_images, (self.fingerprints, self.counts)
        return Digest.of_total, (self.total,)


@dataclass(frozen=True, kw_only=True)
class Signature:
    """What a score depends on: two scores can be compared when their signatures are equal.

    Attributes:
        metric: The metric's name.
        options: Its options, each as `name=value`.
        tokenizer: The tokenizer and its options.
        images: The number of images.
        references: The number of references per image, such as `5` or `4-6`.
        digest: A fingerprint of the references and their images.
        document_frequencies: The source of document frequencies, for metrics that use them; for another
            corpus its name and fingerprint.
        seed: The seed, for scores that depend on chance, such as those of captions held out at random.
        version: The version of capeval.
    """

    metric: str
    options: tuple[str, ...]
    tokenizer: str
    images: int
    references: str
    digest: Digest
    document_frequencies: str | None = None
    seed: int | None = None
    version: str = _native.__version__

    def __str__(self) -> str:
        parts = [
            self.metric,
            *self.options,
            f"tokenizer={self.tokenizer}",
            f"images={self.images}",
            f"references={self.references}",
            f"digest={self.digest}",
        ]
        if self.document_frequencies is not None:
            parts.append(f"df={self.document_frequencies}")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return "|".join([*parts, f"capeval={self.version}"])


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """The scores that one metric gives to candidates.

    Attributes:
        names: The names of its scores, such as `("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4")`.
        image_ids: The image of each row below.
        corpus: The score of the whole corpus, by name.
        per_image: The score of each candidate, by name; one number a row.
        statistics: The numbers that add up to a corpus score: an array of rows by statistics.
        signature: What the scores depend on.
    """

    names: tuple[str, ...]
    image_ids: tuple[ImageId, ...]
    corpus: Mapping[str, float]
    per_image: Mapping[str, FloatArray]
    statistics: FloatArray
    signature: Signature
