"""Scores of one metric, and their signatures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeAlias

from capeval import _native
from capeval.data.captions import Candidates, ImageId, References

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["TIMES_100", "Digest", "FloatArray", "Scores", "Signature"]

TIMES_100 = "Papers often print scores times 100."
"""The footnote on the scale of scores."""

FloatArray: TypeAlias = "NDArray[np.float64]"


class Digest:
    """A fingerprint of the ids and captions of all images.

    As text it has 8 hexadecimal digits. It is the sum of the images' fingerprints, so it does not depend on
    their order, and the fingerprints of parts add up to the fingerprint of the whole. It is computed when
    first read or compared, because most callers never need it.
    """

    def __init__(self, captions: References | Candidates) -> None:
        self._captions = captions

    @classmethod
    def from_fingerprints(cls, fingerprints: NDArray[np.uint64], counts: NDArray[np.int64]) -> Self:
        """Return the digest of images with known fingerprints and numbers of captions."""
        digest = cls.__new__(cls)
        digest.__dict__.update(fingerprints=fingerprints, counts=counts)
        return digest

    @classmethod
    def of_total(cls, total: int) -> Self:
        """Return the digest for a sum of the images' fingerprints."""
        digest = cls.__new__(cls)
        digest.__dict__["total"] = total
        return digest

    @cached_property
    def fingerprints(self) -> NDArray[np.uint64]:
        """The fingerprint of each image, in the order of the images."""
        return self._captions.native.fingerprints()

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of captions of each image, in the order of the images."""
        return self._captions.counts

    @cached_property
    def total(self) -> int:
        """The sum of the fingerprints, modulo 2**64."""
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
        # Leave out the captions, which would otherwise be part of every pickled report.
        if "_captions" in self.__dict__ or "fingerprints" in self.__dict__:
            return Digest.from_fingerprints, (self.fingerprints, self.counts)
        return Digest.of_total, (self.total,)


@dataclass(frozen=True, kw_only=True)
class Signature:
    """The settings of a score; scores with equal signatures are comparable.

    Attributes:
        metric: The metric's name.
        options: Its options, each as `name=value`.
        tokenizer: The tokenizer and its options.
        images: The number of images.
        references: The number of references per image, such as `5` or `4-6`.
        digest: A fingerprint of the references and their images.
        document_frequencies: The source of document frequencies, for metrics that use them. For a corpus
            other than the references, its name and fingerprint.
        seed: The seed, for scores that depend on random draws, such as held-out captions.
        plugin: For a metric of another package, the package and its version, such as `toy-metrics-1.2`; for
            one in a single file, the file's name and fingerprint, such as `repetition.py-1f4a09c2`.
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
    plugin: str | None = None
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
        if self.plugin is not None:
            parts.append(f"plugin={self.plugin}")
        return "|".join([*parts, f"capeval={self.version}"])


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """The scores of candidates by one metric.

    Attributes:
        names: The names of the scores, such as `("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4")`.
        image_ids: The image id of each row.
        corpus: The corpus score, by name.
        per_image: The score of each candidate, by name: arrays of shape (rows,).
        statistics: The sufficient statistics of the corpus score, which add up over rows: an array of shape
            (rows, statistics).
        signature: The settings that the scores depend on.
    """

    names: tuple[str, ...]
    image_ids: tuple[ImageId, ...]
    corpus: Mapping[str, float]
    per_image: Mapping[str, FloatArray]
    statistics: FloatArray
    signature: Signature
