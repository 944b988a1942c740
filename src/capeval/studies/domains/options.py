"""Options of the domains study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from capeval._internal.options import Level, Option, Samples, Seed, check_options

__all__ = ["DomainOptions", "DomainTestOptions", "Frequencies", "Layout", "LayoutOptions"]

# Images that provide the document frequencies of a domain.
Frequencies = Literal["all", "domain"]
# Tables of the paper.
Layout = Literal["table2", "table3"]


@dataclass(frozen=True, kw_only=True)
class DomainOptions:
    """Options of scores by domain.

    Raises:
        OptionError: An option has an invalid value.
    """

    frequencies: Annotated[
        Frequencies,
        Option(help="Count CIDEr's document frequencies in all images, as nocaps does, or in each domain."),
    ] = "all"

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class DomainTestOptions:
    """Options of the intervals and tests in each domain.

    Raises:
        OptionError: An option has an invalid value.
    """

    all_pairs: Annotated[
        bool, Option(help="Compare all pairs of systems, not only the first with the others.")
    ] = False
    samples: Samples = 1000
    level: Level = 0.95
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class LayoutOptions:
    """Options of the table of scores by domain.

    Raises:
        OptionError: An option has an invalid value.
    """

    layout: Annotated[Layout, Option(help="Table layout, as in the paper.")] = "table3"
    published: Annotated[
        Literal["val", "test"] | None,
        Option(help="Add the published rows of this split that use the same partition into domains."),
    ] = None

    def __post_init__(self) -> None:
        check_options(self)
