"""Options of a study of human performance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from capeval._internal.options import Option, Seed, check_options
from capeval._internal.validation import checked_integer
from capeval.errors import OptionError

__all__ = ["HumanOptions"]


@dataclass(frozen=True, kw_only=True)
class HumanOptions:
    """Options of a study of human performance.

    Raises:
        OptionError: An option has a value that is not allowed, or two do not go together.
    """

    references: Annotated[
        tuple[int, ...],
        Option("--references", "-k", help="Numbers of references.", show_default="all captions but one"),
    ] = ()
    draws: Annotated[int, Option(min=1, help="Number of draws of the captions held out.")] = 5
    seed: Seed = 0
    leave_one_out: Annotated[bool, Option(help="Hold out every caption once; nothing is drawn.")] = False

    def __post_init__(self) -> None:
        check_options(self)
        for each in self.references:
            checked_integer("references", each, 1)
        if len(set(self.references)) < len(self.references):
            raise OptionError(
                f"'references' must be different numbers of references (got {list(self.references)})"
            )
        if self.leave_one_out and self.references:
            raise OptionError("'--leave-one-out' must come without '--references' (got both)")
