"""Options of the priming study."""

from __future__ import annotations

from dataclasses import dataclass

from capeval._internal.options import Level, Samples, Seed, check_options

__all__ = ["PrimingOptions"]


@dataclass(frozen=True, kw_only=True)
class PrimingOptions:
    """Options of the priming study.

    Raises:
        OptionError: An option has an invalid value.
    """

    samples: Samples = 1000
    level: Level = 0.95
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)
