"""Judged captions and pairs of a benchmark, and the description of a benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.errors import CaptionError
from capeval.formats.judgments.plans import Pair
from capeval.studies.correlation.options import Raters
from capeval.studies.shared.frequencies import FrequencySource
from capeval.studies.shared.ties import Ties

__all__ = ["CaptionJudgments", "Description", "HumanBenchmark", "PairJudgments"]


@dataclass(frozen=True, kw_only=True, eq=False)
class CaptionJudgments:
    """Captions with human ratings.

    Attributes:
        image_ids: The image of each caption.
        captions: The captions.
        references: The references of each caption.
        ratings: The ratings by question: captions by raters, NaN for missing ratings. A caption without
            ratings does not count for the question.
        votes: The rating of each person, from which people's agreement is computed: captions by people, NaN
            for missing ones; None if unknown.

    Raises:
        CaptionError: The numbers of rows differ.
    """

    image_ids: tuple[ImageId, ...]
    captions: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    ratings: Mapping[str, FloatArray]
    votes: FloatArray | None = None

    def __post_init__(self) -> None:
        rows = [len(self.captions), len(self.references), *map(len, self.ratings.values())]
        if set(rows) != {len(self.image_ids)}:
            raise CaptionError(f"all columns must have {len(self.image_ids)} rows (got {rows})")


@dataclass(frozen=True, kw_only=True, eq=False)
class PairJudgments:
    """Pairs of captions with human preferences.

    Attributes:
        pairs: The pairs with references and votes.
        people: The choices of other people, above 0 for the first candidate, from which people's agreement is
            computed; None if unknown.
        wanted: The choices that `people` are compared with; by default those of the pairs' votes.
    """

    pairs: tuple[Pair, ...]
    people: NDArray[np.generic] | None = None
    wanted: NDArray[np.generic] | None = None


@dataclass(frozen=True, kw_only=True)
class Description:
    """Description of a benchmark of human judgments: its files and its protocol.

    Attributes:
        name: The name, such as `flickr8k-expert`.
        title: The title in tables.
        files: The names of the files that its authors publish; each may be compressed with gzip.
        load: Function that reads a folder with the files.
        measures: Coefficients of `capeval.studies.shared.coefficients`, for captions with ratings; classes of
            pairs, for pairs with preferences.
        protocol: How judgments are used, as footnotes.
        ceiling: How people's agreement is computed, as a footnote; empty if it is unknown.
        frequencies: The references in which CIDEr counts document frequencies.
        raters: Whether each rating or the mean rating of each caption is an observation.
        ties: The rule for ties of a metric.
        references: The number of references drawn per image; None for all.
        is_verified: Whether capeval was compared with the published numbers on the published files.
        order: The place in lists.
    """

    name: str
    title: str
    files: tuple[str, ...]
    load: Callable[[Path], CaptionJudgments | PairJudgments]
    measures: tuple[str, ...]
    protocol: tuple[str, ...]
    ceiling: str = ""
    frequencies: FrequencySource = "ratings"
    raters: Raters = "each"
    ties: Ties = "wrong"
    references: int | None = None
    is_verified: bool = True
    order: int


@dataclass(frozen=True, kw_only=True, eq=False)
class HumanBenchmark:
    """A benchmark of human judgments with its content, from `load_benchmark`.

    Attributes:
        about: The description.
        judged: The captions or pairs with judgments.
    """

    about: Description
    judged: CaptionJudgments | PairJudgments = field(repr=False)
