"""Options of a study of correlation with ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from capeval._internal.options import Level, Option, Samples, Seed, check_options

__all__ = ["CorrelationOptions", "FrequencySource", "Raters"]

# References that CIDEr counts: once for each rated caption, or once for each image.
FrequencySource = Literal["ratings", "references"]
# Observations that are correlated: each rating, or the mean rating of each caption.
Raters = Literal["each", "mean"]


@dataclass(frozen=True, kw_only=True)
class CorrelationOptions:
    """Options of a study of correlation with ratings.

    Raises:
        OptionError: An option has a value that is not allowed.
    """

    frequencies: Annotated[
        FrequencySource,
        Option(help="CIDEr counts references once for each rated caption, or once for each image."),
    ] = "ratings"
    raters: Annotated[
        Raters, Option(help="Each rating is an observation, or the mean rating of each caption.")
    ] = "each"
    against: Annotated[
        str | None, Option(metavar="METRIC", help="Test every other metric against this one.")
    ] = None
    samples: Samples = 1000
    level: Level = 0.95
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)
