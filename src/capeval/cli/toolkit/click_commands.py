"""Commands of click made from functions: a parameter is annotated with what its help says of it.

Typer makes them alike, and was used before: importing it and the pydantic it reads values with took 0.12 s of
every command, a quarter of scoring val2014.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

import click

__all__ = ["Argument", "Command", "Group", "Option", "parameters"]


class Argument:
    """What the help says of an argument; a parameter of a command is `Annotated` with it.

    Args:
        help: What it is.
        metavar: Its name in the help.
        show_default: Whether the help has its default, or what it says instead.
    """

    def __init__(
        self,
        *,
        help: str,  # noqa: A002 - click's name.
        metavar: str | None = None,
        show_default: bool | str = True,
    ) -> None:
        self.help = help
        self.metavar = metavar
        self.show_default = show_default

    def parameter(self, name: str, kind: Any, default: Any) -> click.Parameter:
        """The parameter of click."""
        many, value = _type_of(kind, None, None)
        required = default is inspect.Parameter.empty
        settings = {} if required else {"default": _shown_as_value(default)}
        return _Positional(
            [name],
            about=self,
            type=value,
            nargs=-1 if many else 1,
            required=required,
            metavar=self.metavar,
            **settings,
        )


class Option:
    """What the help says of an option; a parameter of a command is `Annotated` with it.

    Args:
        names: Its names, such as `--output` and `-o`; made of the parameter's name by default.
        help: What it is for.
        metavar: The name of its value in the help.
        show_default: Whether the help has its default, or what it says instead.
        min: Its least value.
        max: Its greatest value.
        callback: Checks the value, and returns it.
    """

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002 - click's names.
        metavar: str | None = None,
        show_default: bool | str = True,
        min: int | None = None,  # noqa: A002
        max: int | None = None,  # noqa: A002
        callback: Callable[[Any], Any] | None = None,
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.show_default = show_default
        self.min = min
        self.max = max
        self.callback = callback

    def parameter(self, name: str, kind: Any, default: Any) -> click.Parameter:
        """The parameter of click."""
        names = self.names or (f"--{name.replace('_', '-')}",)
        many, value = _type_of(kind, self.min, self.max)
        required = default is inspect.Parameter.empty
        settings: dict[str, Any] = {} if required else {"default": _shown_as_value(default)}
        if value is bool:
            settings["is_flag"] = True
        else:
            settings.update(type=value, multiple=many, metavar=self.metavar)
        check = self.callback
        if check is not None:
            settings["callback"] = lambda _, __, given: check(given)
        return click.Option(
            [name, *names], help=self.help, required=required, show_default=self.show_default, **settings
        )


class _Positional(click.Argument):
    """An argument with a help; click's own have one from 8.5 on."""

    def __init__(self, names: list[str], *, about: Argument, **settings: Any) -> None:
        super().__init__(names, **settings)
        self.about = about

    def make_metavar(self, *_: Any) -> str:
        name = self.human_readable_name
        return name if self.required else f"[{name}]"

    def help_row(self) -> tuple[str, str]:
        """Its name and its help, as in the list of arguments."""
        shown = self.about.show_default
        if self.required:
            return self.human_readable_name, f"{self.about.help}  [required]"
        if shown is False or (shown is True and self.default is None):
            return self.human_readable_name, self.about.help
        default = self.default if shown is True else f"({shown})"
        return self.human_readable_name, f"{self.about.help}  [default: {default}]"


class _Choice(click.Choice):  # type: ignore[type-arg] # It has a type from click 8.2 on.
    """A choice of the values of an enumeration."""

    def __init__(self, kind: type[StrEnum]) -> None:
        super().__init__([each.value for each in kind])
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> StrEnum:
        return self._kind(super().convert(value, param, ctx))


class Command(click.Command):
    """A command that runs a function, whose docstring is its help.

    Args:
        function: What it runs.
        name: Its name.
        examples: What comes after the options.
    """

    def __init__(self, function: Callable[..., None], name: str, examples: str | None = None) -> None:
        def run(**values: Any) -> None:
            # Click gives tuples, which are empty where nothing was given.
            function(
                **{key: (list(each) or None) if type(each) is tuple else each for key, each in values.items()}
            )

        super().__init__(
            name, callback=run, params=parameters(function), help=inspect.getdoc(function), epilog=examples
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the arguments and options with their help."""
        rows = [each.help_row() for each in self.params if isinstance(each, _Positional)]
        if rows:
            with formatter.section("Arguments"):
                formatter.write_dl(rows)
        records = [
            each.get_help_record(ctx) for each in self.get_params(ctx) if isinstance(each, click.Option)
        ]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])


class Group(click.Group):
    """A group of commands.

    Commands in `modules` are imported when they are run or listed, so that `--help` and short commands stay
    fast. Such a module has a function `run` and its EXAMPLES, or is a group and has its `app`.

    Attributes:
        modules: The module of each command by name, in the order of the help.
    """

    modules: ClassVar[Mapping[str, str]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click has it.
        """The names of the commands, in order."""
        return [*self.modules, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None where there is none."""
        if cmd_name not in self.modules:
            return super().get_command(ctx, cmd_name)
        module = import_module(self.modules[cmd_name])
        group: click.Command | None = getattr(module, "app", None)
        return group or Command(module.run, cmd_name, module.EXAMPLES)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; a misspelt one is an error with the nearest names."""
        name, *rest = args
        command = self.get_command(ctx, name)
        if command is None and not ctx.resilient_parsing:
            near = ", ".join(repr(each) for each in get_close_matches(name, self.list_commands(ctx)))
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {near}?" if near else ""))
        return name if command is not None else None, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Writes the list of commands, each with the whole first paragraph of its help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _paragraph(text)) for name, text in self.helps()])

    def helps(self) -> Iterator[tuple[str, str | None]]:
        """The commands and their helps. A command of `modules` is not made for it: that takes longest."""
        for name, place in self.modules.items():
            module = import_module(place)
            yield name, module.app.help if hasattr(module, "app") else inspect.getdoc(module.run)
        for name, command in self.commands.items():
            yield name, command.help


def parameters(function: Callable[..., None]) -> list[click.Parameter]:
    """The parameters of click that a function's annotations ask for."""
    hints = get_type_hints(function, include_extras=True)
    made = []
    for name, parameter in inspect.signature(function).parameters.items():
        kind, about = get_args(hints[name])
        made.append(about.parameter(name, kind, parameter.default))
    return made


def _type_of(kind: Any, least: int | None, most: int | None) -> tuple[bool, Any]:
    """Whether there are several values, and what click reads each as."""
    if get_origin(kind) is UnionType:
        (kind,) = (each for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is list:
        (kind,) = get_args(kind)
        return True, _type_of(kind, least, most)[1]
    if kind is Path:
        return False, click.Path(path_type=Path)
    if issubclass(kind, StrEnum):
        return False, _Choice(kind)
    if least is not None or most is not None:
        return False, click.IntRange(least, most)
    return False, kind


def _shown_as_value(default: Any) -> Any:
    # The help of click has the name of an enumeration's member, which can't be given.
    return default.value if isinstance(default, StrEnum) else default


def _paragraph(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())
