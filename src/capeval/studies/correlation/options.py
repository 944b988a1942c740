"""Options of the correlation study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from capeval._internal.options import Level, Option, Samples, Seed, check_options
from capeval.studies.shared.frequencies import FrequencySource

__all__ = ["CorrelationOptions", "Raters", "Units"]

# Correlated observations: each rating, or the mean rating of each caption.
Raters = Literal["each", "mean"]
# Units that vary in intervals and tests: the systems, or the images.
Units = Literal["systems", "images"]


@dataclass(frozen=True, kw_only=True)
class CorrelationOptions:
    """Options of the correlation study.

    Raises:
        OptionError: An option has an invalid value.
    """

    frequencies: Annotated[
        FrequencySource,
        Option(help="Count CIDEr's document frequencies per rated caption, or per image."),
    ] = "ratings"
    raters: Annotated[Raters, Option(help="Correlate each rating, or the mean rating of each caption.")] = (
        "each"
    )
    system_intervals: Annotated[
        Units,
        Option(help="Compute intervals and tests at system level over systems or images."),
    ] = "systems"
    against: Annotated[
        str | None, Option(metavar="METRIC", help="Test every other metric against this one.")
    ] = None
    samples: Samples = 1000
    level: Level = 0.95
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)
