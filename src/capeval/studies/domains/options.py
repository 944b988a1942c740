"""Options of a study of domains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from capeval._internal.options import Option, check_options

__all__ = ["DomainOptions", "Frequencies", "Layout", "LayoutOptions"]

# Images whose document frequencies weight the score of a domain.
Frequencies = Literal["all", "domain"]
# Tables of the paper.
Layout = Literal["table2", "table3"]


@dataclass(frozen=True, kw_only=True)
class DomainOptions:
    """Options of scores by domain.

    Raises:
        OptionError: An option has a value that is not allowed.
    """

    frequencies: Annotated[
        Frequencies,
        Option(
            help="Images whose document frequencies weight CIDEr of a domain: all, as in nocaps, or its own."
        ),
    ] = "all"

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class LayoutOptions:
    """Options of the table of scores by domain.

    Raises:
        OptionError: An option has a value that is not allowed.
    """

    layout: Annotated[Layout, Option(help="Which table of the paper.")] = "table3"
    human: Annotated[
        Literal["val", "test"] | None, Option(help="Show the scores of people in the paper.")
    ] = None

    def __post_init__(self) -> None:
        check_options(self)
