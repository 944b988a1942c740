"""Descriptions of options for the command line, its help and validation.

A parameter of a command or a field of a dataclass of options is `Annotated` with an `Argument` or an
`Option`. This module imports neither click nor numpy.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from capeval._internal.validation import validate_choice, validate_flag, validate_integer, validate_level

__all__ = ["Argument", "Level", "Option", "Parameter", "Samples", "Seed", "check_options", "get_parameters"]


@dataclass(frozen=True, kw_only=True)
class Argument:
    """Description of a positional argument.

    Attributes:
        help: The help text.
        metavar: The name in the help; by default the parameter's name in capital letters.
        show_default: Whether the help shows the default; or a text to show instead.
        replaced_by: The parameter of an option that is used instead of the argument; empty for none.
        optional_with: The parameter of an option with which the argument is not required; empty for none.
    """

    help: str
    metavar: str | None = None
    show_default: bool | str = True
    replaced_by: str = ""
    optional_with: str = ""


class Option:
    """Description of an option.

    Args:
        names: Names such as `--output` and `-o`; by default derived from the parameter's name.
        help: The help text.
        metavar: The name of the value in the help; by default `FILE` for a path.
        show_default: Whether the help shows the default; or a text to show instead.
        min: The smallest allowed integer.
        max: The largest allowed integer.
        between: The bounds of the value, both exclusive.
    """

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002 - the name that click uses.
        metavar: str | None = None,
        show_default: bool | str = True,
        min: int | None = None,  # noqa: A002
        max: int | None = None,  # noqa: A002
        between: tuple[float, float] | None = None,
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.show_default = show_default
        self.min = min
        self.max = max
        self.between = between


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of a function, or a field of a dataclass, with its description.

    Attributes:
        name: The name.
        about: The description; None for a dataclass of further parameters.
        kind: The type of the value, or of each value of a list; without None.
        is_list: Whether it is a list: the option may be repeated, with one value each time.
        choices: The values of a `Literal`; empty for other types.
        default: The default; `inspect.Parameter.empty` if the parameter is required.
    """

    name: str
    about: Argument | Option | None
    kind: Any
    is_list: bool
    choices: tuple[str, ...]
    default: Any

    @property
    def is_required(self) -> bool:
        """Whether the parameter has no default."""
        return self.default is inspect.Parameter.empty


def get_parameters(target: Callable[..., object]) -> tuple[Parameter, ...]:
    """Return the described parameters of a function or fields of a dataclass."""
    return _parameters_of(target)


@cache
def _parameters_of(target: Callable[..., object]) -> tuple[Parameter, ...]:
    found = []
    hints = get_type_hints(target, include_extras=True)
    for name, parameter in inspect.signature(target).parameters.items():
        kind, about = hints[name], None
        if not is_dataclass(kind):
            kind, *described = get_args(kind)
            # With nested `Annotated` types, the last description belongs to the parameter itself.
            about = described[-1]
        if get_origin(kind) in (Union, UnionType):
            (kind,) = (each for each in get_args(kind) if each is not NoneType)
        is_list = get_origin(kind) in (list, Sequence)
        if is_list:
            (kind,) = get_args(kind)
        found.append(
            Parameter(
                name=name,
                about=about,
                kind=kind,
                is_list=is_list,
                choices=get_args(kind) if get_origin(kind) is Literal else (),
                default=parameter.default,
            )
        )
    return tuple(found)


def check_options(options: object) -> None:
    """Validate the fields of a dataclass of options against their descriptions.

    Raises:
        OptionError: The description of a field does not allow its value.
    """
    for each in get_parameters(type(options)):
        value = getattr(options, each.name)
        if each.about is None or (value is None and each.default is None):
            # A dataclass validates its own fields.
            continue
        if each.choices:
            validate_choice(each.name, value, each.choices)
        elif each.kind is bool:
            validate_flag(each.name, value)
        elif isinstance(each.about, Option) and each.about.between is not None:
            validate_level(each.name, value)
        elif isinstance(each.about, Option) and each.kind is int and each.about.min is not None:
            validate_integer(each.name, value, each.about.min, each.about.max)


Samples = Annotated[int, Option(min=1, help="Number of resamples of the images.")]
Level = Annotated[float, Option(between=(0, 1), help="Confidence level of intervals, between 0 and 1.")]
Seed = Annotated[int, Option(min=0, help="Random seed.")]
