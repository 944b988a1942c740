"""Options of the judging study."""

from __future__ import annotations

from dataclasses import dataclass

from capeval._internal.options import Level, Samples, Seed, check_options

__all__ = ["JudgingOptions"]


@dataclass(frozen=True, kw_only=True)
class JudgingOptions:
    """Options of the judging study.

    Raises:
        OptionError: An option has an invalid value.
    """

    samples: Samples = 1000
    level: Level = 0.95
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)
