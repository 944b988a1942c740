"""SPIDEr (Liu, Zhu, Ye, Guadarrama and Murphy 2017): the mean of SPICE and CIDEr-D."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np

from capeval.metrics.base import NOT_AN_OPTION, Kernel, Metric, Resource
from capeval.metrics.registry import CLASSES, register
from capeval.resources.parses import ParseStore
from capeval.tokenization import TokenizedCandidates, TokenizedReferences
from capeval.types import FloatArray

__all__ = ["Spider"]


@register
@dataclass(frozen=True, kw_only=True)
class Spider(Metric):
    """The mean of SPICE and CIDEr-D, each with its default options.

    Args:
        text: What SPICE parses: `tokens` or `raw`.
        store: Where parses are kept between runs; nowhere by default. It does not change scores.

    Raises:
        OptionError: An option has another value.
    """

    family: ClassVar[str] = "SPIDEr"
    page: ClassVar[str] = "spice"

    text: Literal["tokens", "raw"] = "tokens"
    store: ParseStore | None = field(default=None, compare=False, metadata=NOT_AN_OPTION)

    def __post_init__(self) -> None:
        _ = self._parts

    @property
    def _parts(self) -> tuple[Metric, Metric]:
        # By their names in the registry: no metric imports another.
        spice, cider = CLASSES["Spice"], CLASSES["CiderD"]
        return spice(text=self.text, store=self.store), cider()  # type: ignore[call-arg]

    @property
    def names(self) -> tuple[str, ...]:
        """`SPIDEr`."""
        return (self.family,)

    @property
    def statistics(self) -> tuple[str, ...]:
        """Those of SPICE, then those of CIDEr-D."""
        return tuple(f"{part.family} {name}" for part in self._parts for name in part.statistics)

    @property
    def needs(self) -> tuple[Resource, ...]:
        """What SPICE needs."""
        return tuple(resource for part in self._parts for resource in part.needs)

    @property
    def document_frequencies(self) -> str | None:
        """Those of CIDEr-D: the references'."""
        return self._parts[1].document_frequencies

    def remembering(self, folder: Path) -> Self:
        """The metric with a store of parses in a folder, unless it has one."""
        return replace(self, store=self.store or getattr(self._parts[0].remembering(folder), "store", None))

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Prepares the references for both."""
        kernels = [part.kernel(references) for part in self._parts]

        def statistics(candidates: TokenizedCandidates) -> FloatArray:
            return np.concatenate([kernel(candidates) for kernel in kernels], axis=1)

        return statistics

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """The mean of the two scores."""
        spice, cider = self._parts
        width = len(spice.statistics)
        ours, theirs = spice.aggregate(statistics[..., :width]), cider.aggregate(statistics[..., width:])
        scores: FloatArray = (ours + theirs) / 2
        return scores
