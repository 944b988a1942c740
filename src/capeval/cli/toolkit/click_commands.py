"""Click commands, created from functions and dataclasses of options.

Typer is not used, because importing it and pydantic takes 0.12 s in every command, a quarter of the time of
scoring val2014.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, get_origin

import click

from capeval._internal.options import Argument, Option, Parameter, get_parameters
from capeval.cli.toolkit.output import deliver

__all__ = ["Argument", "Command", "Group", "Option", "parameters"]

# The key of a context for the names of the given options.
_GIVEN = "capeval.given"


class _Positional(click.Argument):
    """A positional argument with a help text, which click supports from version 8.5."""

    def __init__(self, parameter: Parameter, about: Argument) -> None:
        dots = "..." if parameter.is_list else ""
        super().__init__(
            [parameter.name],
            type=_get_type(parameter),
            nargs=-1 if parameter.is_list else 1,
            required=parameter.is_required,
            metavar=about.metavar or parameter.name.upper() + dots,
            **_get_default(parameter),
        )
        self.about = about

    def make_metavar(self, *_: Any) -> str:
        name = self.human_readable_name
        return name if self.required else f"[{name}]"

    def help_row(self) -> tuple[str, str]:
        """Return the name and the help text for the list of arguments."""
        shown = self.about.show_default
        if self.required:
            unless = (
                f" without --{self.about.replaced_by.replace('_', '-')}" if self.about.replaced_by else ""
            )
            return self.human_readable_name, f"{self.about.help}  [required{unless}]"
        if shown is True and not self.default:
            return self.human_readable_name, self.about.help
        default = self.default if shown is True else f"({shown})"
        return self.human_readable_name, f"{self.about.help}  [default: {default}]"


class _Integers(click.ParamType):  # type: ignore[type-arg] # Generic from click 8.2.
    """Comma-separated integers."""

    name = "n,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(int(part) for part in value.split(","))
        except ValueError:
            self.fail(f"must be comma-separated integers, such as 1,5,10 (got {value!r})", param, ctx)


class _Between(click.ParamType):  # type: ignore[type-arg]
    """A number between two exclusive bounds; unlike click's range, it rejects nan."""

    name = "float"

    def __init__(self, low: float, high: float) -> None:
        self._low = low
        self._high = high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = click.FLOAT.convert(value, param, ctx)
        if not self._low < number < self._high:
            self.fail(f"{number} is not between {self._low:g} and {self._high:g}.", param, ctx)
        return number


def _print_help(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        deliver(f"{context.get_help()}\n", None)
        context.exit()


class _CommandWithHelp(click.Command):
    """A command with help that is written like its results, with the same errors."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the option that prints the help."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _print_help
        return option


class Command(_CommandWithHelp):
    """A command that runs a function, with the function's docstring as help text.

    Args:
        function: The function. Its parameters, and the fields of parameters that are dataclasses, become the
            arguments and options.
        name: The name of the command.
        examples: The text after the options.
    """

    def __init__(self, function: Callable[..., None], name: str, examples: str | None = None) -> None:
        found = get_parameters(function)

        def run(**values: Any) -> None:
            function(**{each.name: _get_value(each, values) for each in found})

        super().__init__(
            name, callback=run, params=parameters(function), help=inspect.getdoc(function), epilog=examples
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; those that are replaced by a given option are left out."""
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        ctx.meta[_GIVEN] = {name for name, value in given.items() if value is not None}
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, which depend on the given options after they are parsed."""
        given = ctx.meta.get(_GIVEN, ())
        found = []
        for each in super().get_params(ctx):
            if isinstance(each, _Positional) and each.about.replaced_by in given:
                continue
            if isinstance(each, _Positional) and each.about.optional_with in given:
                each = copy(each)
                each.required = False
            found.append(each)
        return found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments and options with their help texts."""
        for title, rows in self.help_rows(ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def help_rows(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Return the names and descriptions of arguments and options, by section title."""
        params = self.get_params(ctx)
        rows = {
            "Arguments": [each.help_row() for each in params if isinstance(each, _Positional)],
            "Options": [
                record
                for each in params
                if isinstance(each, click.Option) and (record := each.get_help_record(ctx)) is not None
            ],
        }
        return {title: found for title, found in rows.items() if found}


class Group(_CommandWithHelp, click.Group):
    """A group of commands.

    Modules in `modules` are imported when their commands are run or listed, so that `--help` and short
    commands stay fast. Each module has a function `run` and `EXAMPLES`, or, for a group, an `app`.

    Attributes:
        modules: The module of each command by name, in the order of the help.
    """

    modules: ClassVar[Mapping[str, str]] = {}

    def find_modules(self) -> Mapping[str, str]:
        """Return the module of each command by name."""
        return self.modules

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature.
        """Return the names of the commands, in order."""
        return [*self.find_modules(), *self.commands]

    def list_known(self, ctx: click.Context) -> list[str]:
        """Return the names to suggest for an unknown one."""
        return self.list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name, or None."""
        modules = self.find_modules()
        if cmd_name not in modules:
            return super().get_command(ctx, cmd_name)
        module = import_module(modules[cmd_name])
        group: click.Command | None = getattr(module, "app", None)
        return group or Command(module.run, cmd_name, module.EXAMPLES)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command in the arguments; suggest similar names for unknown commands."""
        name, *rest = args
        command = self.get_command(ctx, name)
        if command is None and not ctx.resilient_parsing:
            near = ", ".join(repr(each) for each in get_close_matches(name, self.list_known(ctx)))
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {near}?" if near else ""))
        return name if command is not None else None, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, each with the full first paragraph of its help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _get_first_paragraph(text)) for name, text in self.helps(ctx)])

    def helps(self, ctx: click.Context) -> Iterator[tuple[str, str | None]]:
        """Yield the names and help texts of the commands, in order.

        Commands in `modules` are not created for their help texts, because that is slow.
        """
        modules = self.find_modules()
        for name in self.list_commands(ctx):
            if name in modules:
                module = import_module(modules[name])
                yield name, module.app.help if hasattr(module, "app") else inspect.getdoc(module.run)
            else:
                yield name, self.help_of(name)

    def help_of(self, name: str) -> str | None:
        """Return the help text of a command that is not in `modules`."""
        return self.commands[name].help


def parameters(function: Callable[..., None]) -> list[click.Parameter]:
    """Return the parameters of click for the parameters of a function."""
    return [made for each in get_parameters(function) for made in _iter_click_parameters(each)]


def _iter_click_parameters(parameter: Parameter) -> Iterator[click.Parameter]:
    """Yield the click parameter, or the parameters of all fields of a dataclass."""
    about = parameter.about
    if about is None:
        for each in get_parameters(parameter.kind):
            yield from _iter_click_parameters(each)
    elif isinstance(about, Argument):
        yield _Positional(parameter, about)
    else:
        settings = _get_default(parameter)
        if parameter.kind is bool:
            settings["is_flag"] = True
        else:
            settings.update(
                type=_get_type(parameter), multiple=parameter.is_list, metavar=_get_metavar(parameter)
            )
        name = f"--{parameter.name.replace('_', '-')}"
        yield click.Option(
            [parameter.name, *(about.names or (name,))],
            help=about.help,
            required=parameter.is_required,
            # An empty default is not shown.
            show_default=parameter.default != "" if about.show_default is True else about.show_default,
            **settings,
        )


def _get_value(parameter: Parameter, values: Mapping[str, Any]) -> Any:
    """Return the value of a parameter from click's values."""
    if parameter.about is None:
        # A dataclass, which validates its values when it is created.
        fields = get_parameters(parameter.kind)
        return parameter.kind(**{each.name: _get_value(each, values) for each in fields})
    # An argument that is replaced by an option has no value.
    value = values.get(parameter.name)
    # Click returns tuples, which are empty if the option was not used.
    return (list(value or ()) or None) if parameter.is_list else value


def _get_type(parameter: Parameter) -> Any:
    """Return the click type of a parameter."""
    about = parameter.about
    if parameter.choices:
        return click.Choice(parameter.choices)
    if get_origin(parameter.kind) is tuple:
        return _Integers()
    if parameter.kind is Path:
        return click.Path(path_type=Path)
    if isinstance(about, Option) and about.between is not None:
        return _Between(*about.between)
    if isinstance(about, Option) and (about.min is not None or about.max is not None):
        return click.IntRange(about.min, about.max)
    return parameter.kind


def _get_metavar(parameter: Parameter) -> str | None:
    assert parameter.about is not None  # noqa: S101 - only dataclasses have no description.
    return parameter.about.metavar or ("FILE" if parameter.kind is Path else None)


def _get_default(parameter: Parameter) -> dict[str, Any]:
    return {} if parameter.is_required else {"default": parameter.default}


def _get_first_paragraph(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())
