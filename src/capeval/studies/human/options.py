"""Options of the human-performance study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from capeval._internal.options import Option, Seed, check_options
from capeval._internal.validation import validate_integer
from capeval.errors import OptionError

__all__ = ["HumanOptions"]


@dataclass(frozen=True, kw_only=True)
class HumanOptions:
    """Options of the human-performance study.

    Raises:
        OptionError: An option has an invalid value, or two options conflict.
    """

    references: Annotated[
        tuple[int, ...],
        Option("--references", "-k", help="Numbers of references.", show_default="all captions but one"),
    ] = ()
    draws: Annotated[int, Option(min=1, help="Number of random draws of the held-out captions.")] = 5
    seed: Seed = 0
    leave_one_out: Annotated[
        bool, Option(help="Hold out every caption once instead of drawing at random.")
    ] = False

    def __post_init__(self) -> None:
        check_options(self)
        for each in self.references:
            validate_integer("references", each, 1)
        if len(set(self.references)) < len(self.references):
            raise OptionError(f"'references' must not contain a number twice (got {list(self.references)})")
        if self.leave_one_out and self.references:
            raise OptionError("'--leave-one-out' can't be combined with '--references'")
