"""SPIDEr (Liu et al. 2017): the mean of SPICE and CIDEr-D."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self, get_args

import numpy as np

from capeval._internal.validation import validate_choice
from capeval.data.scores import FloatArray
from capeval.metrics.base import NOT_AN_OPTION, OMITTED_BY_DEFAULT, Counted, Kernel, Metric, Reads, Resource
from capeval.metrics.registry import CLASSES, register
from capeval.metrics.spice_parsing import DEFAULT_LIMIT
from capeval.resources.document_frequencies import DocumentFrequencies
from capeval.resources.parse_store import ParseStore
from capeval.resources.spice import store_in
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences

if TYPE_CHECKING:
    from capeval.metrics.scene_graphs import ComparedGraphs

__all__ = ["Spider"]

Text = Literal["tokens", "sentences"]


@register
@dataclass(frozen=True, kw_only=True)
class Spider(Metric):
    """The mean of SPICE and CIDEr-D.

    Both have their default options.

    Args:
        frequencies: The source of CIDEr-D's document frequencies: `references`, `uniform`, or
            `DocumentFrequencies` of a different corpus.
        text: The text that SPICE parses: `tokens` or `sentences`.
        longest: The maximum length of sentences that SPICE parses, in tokens, at most 800. An image with a
            longer sentence in its candidate or a reference has no score and is excluded from corpus scores.
        require_all: Whether to raise an error for such an image instead.
        store: The cache of parses; by default parses are not cached. It does not change scores.
        model: The file of SPICE's compiled model; by default an installed model, or the one in the user's
            cache folder.

    Raises:
        OptionError: An option has an invalid value.

    Example:
        >>> from capeval import CiderD, Spice, Spider, evaluate
        >>> references = {1: ["A dog runs on the grass."], 2: ["Two cats sleep on a bed."]}
        >>> candidates = {1: "A dog runs on the grass.", 2: "A cat sleeps on a bed."}
        >>> report = evaluate(references, candidates, [Spice(), CiderD(), Spider()])
        >>> {name: round(score, 3) for name, score in report.corpus.items()}
        {'SPICE': 0.75, 'CIDEr-D': 6.173, 'SPIDEr': 3.462}
    """

    family: ClassVar[str] = "SPIDEr"
    featured: ClassVar = ("SPIDEr",)
    note: ClassVar[str] = "SPIDEr is the mean of SPICE and CIDEr-D."
    docs_page: ClassVar[str] = "spice"
    citations: ClassVar = ("liu2017spider", "anderson2016spice", "vedantam2015cider")

    frequencies: DocumentFrequencies | Literal["references", "uniform"] = field(
        default="references", metadata=NOT_AN_OPTION
    )
    text: Text = field(default="tokens", metadata=OMITTED_BY_DEFAULT)
    longest: int = field(default=DEFAULT_LIMIT, metadata=NOT_AN_OPTION)
    require_all: bool = field(default=False, compare=False, metadata=NOT_AN_OPTION)
    store: ParseStore | None = field(default=None, compare=False, metadata=NOT_AN_OPTION)
    model: Path | None = field(default=None, compare=False, metadata=NOT_AN_OPTION)

    def __post_init__(self) -> None:
        validate_choice("text", self.text, get_args(Text))
        _ = self._parts

    @property
    def _parts(self) -> tuple[Metric, Metric]:
        # Looked up in the registry, since metrics do not import each other.
        spice, cider = CLASSES["Spice"], CLASSES["CiderD"]
        return (
            spice(
                text=self.text,  # type: ignore[call-arg]
                longest=self.longest,
                require_all=self.require_all,
                store=self.store,
                model=self.model,
            ),
            cider(frequencies=self.frequencies),  # type: ignore[call-arg]
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The name `SPIDEr`."""
        return (self.family,)

    @property
    def statistics(self) -> tuple[str, ...]:
        """The statistics of SPICE, then the statistics of CIDEr-D."""
        return tuple(f"{part.family} {name}" for part in self._parts for name in part.statistics)

    @property
    def input_kind(self) -> Reads:
        """The tokens, or the tokens of each sentence."""
        return self.text

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The resources that SPICE needs."""
        return tuple(resource for part in self._parts for resource in part.resources)

    @property
    def frequency_unit(self) -> Counted | None:
        """Unit of CIDEr-D's document frequencies of the references; None if it has none."""
        return self._parts[1].frequency_unit

    def with_corpus(self, corpus: TokenizedReferences, name: str) -> Self:
        """Return a copy with document frequencies of a corpus, unless it has some."""
        if self.frequency_unit is None:
            return self
        return replace(self, frequencies=DocumentFrequencies.of(corpus, stem=False, name=name))

    @property
    def document_frequencies(self) -> str | None:
        """Those of CIDEr-D."""
        return self._parts[1].document_frequencies

    def with_document_frequencies(self, frequencies: DocumentFrequencies) -> Self:
        """Return a copy with these document frequencies, unless it already has some."""
        return self if self.frequency_unit is None else replace(self, frequencies=frequencies)

    def options(self) -> tuple[str, ...]:
        """Return the text and the sentence limit as `name=value`, if they are not the defaults."""
        limit = () if self.longest == DEFAULT_LIMIT else (f"longest={self.longest}",)
        return (*super().options(), *limit)

    def with_sentence_limit(self, longest: int) -> Self:
        """Return a copy with this sentence limit, in tokens."""
        return replace(self, longest=longest)

    def without_exclusions(self) -> Self:
        """Return a copy that raises an error if a caption can't be parsed."""
        return replace(self, require_all=True)

    def unscored(self, statistics: FloatArray) -> FloatArray:
        """Return the number of images that SPICE could not parse."""
        spice = self._parts[0]
        return spice.unscored(statistics[..., : len(spice.statistics)])

    @property
    def unscored_reason(self) -> str:
        """SPICE's reason for unscored images."""
        return self._parts[0].unscored_reason

    @property
    def unscored_fix(self) -> str:
        """SPICE's advice on unscored images."""
        return self._parts[0].unscored_fix

    def with_cache(self, folder: Path) -> Self:
        """Return a copy that caches parses in a folder, unless it already has a cache."""
        return replace(self, store=self.store or store_in(folder))

    def explain(self, candidate: str, references: Sequence[str]) -> ComparedGraphs | None:
        """Return the scene graphs that SPICE compares."""
        return self._parts[0].explain(candidate, references)

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Prepare the references for SPICE and CIDEr-D."""
        spice = self._parts[0]
        kernels = [part.kernel(references) for part in self._parts]

        def statistics(candidates: TokenizedCandidates) -> FloatArray:
            parsed, counted = (kernel(candidates) for kernel in kernels)
            # An image without SPICE has no SPIDEr, so its CIDEr-D is excluded from the mean too.
            counted = np.where(spice.unscored(parsed)[:, None] > 0, 0, counted)
            return np.concatenate([parsed, counted], axis=1)

        return statistics

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """Return the mean of the two scores."""
        spice, cider = self._parts
        width = len(spice.statistics)
        ours, theirs = spice.aggregate(statistics[..., :width]), cider.aggregate(statistics[..., width:])
        scores: FloatArray = (ours + theirs) / 2
        return scores
