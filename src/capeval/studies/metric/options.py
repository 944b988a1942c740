"""Options of the metric study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from capeval._internal.options import Level, Option, Samples, Seed, check_options
from capeval.studies.shared.ties import Ties

__all__ = ["MetricOptions"]


@dataclass(frozen=True, kw_only=True)
class MetricOptions:
    """Options of the metric study.

    Raises:
        OptionError: An option has an invalid value.
    """

    references: Annotated[
        int | None,
        Option(
            min=1,
            metavar="N",
            help="Number of references to draw per image, in benchmarks of pairs.",
            show_default="that of the benchmark's papers",
        ),
    ] = None
    draws: Annotated[
        int, Option(min=1, help="Number of random draws of references; accuracies are their means.")
    ] = 5
    ties: Annotated[
        Ties | None,
        Option(
            help="Count a metric's tie on a pair as wrong, half correct or the first candidate, or toss a"
            " coin.",
            show_default="that of the benchmark's papers",
        ),
    ] = None
    samples: Samples = 1000
    level: Level = 0.95
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)
