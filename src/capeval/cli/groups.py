"""Groups of commands, each in a module that is imported when it is run or listed.

So that `--help` and short commands stay fast: importing all commands and making their options takes longer than
most of them run.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

__all__ = ["Group", "command_of"]


class Group(TyperGroup):
    """A group whose commands are modules. `Any`: depending on its version, typer uses click's classes or its own.

    Attributes:
        modules: The module of each command by name, in the order of the help. A module has EXAMPLES and a
            function `run`, or is a group and has its `app`.
    """

    modules: ClassVar[dict[str, str]] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands."""
        return [*self.modules, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; None where there is none."""
        if cmd_name in self.modules:
            return _command(cmd_name, import_module(self.modules[cmd_name]))
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments name; a misspelt one is an error with the nearest names."""
        name = args[0]
        command = self.get_command(ctx, name)
        if command is None and not ctx.resilient_parsing:
            near = ", ".join(repr(each) for each in get_close_matches(name, self.list_commands(ctx)))
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {near}?" if near else ""))
        return name if command is not None else None, command, args[1:]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list of commands, each with its whole first sentence."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries(ctx)))

    def summaries(self, ctx: Any) -> Iterator[tuple[str, str]]:
        """The names of the commands and what they do."""
        for name, module in self.modules.items():
            # Without the command itself: making its options takes longer than importing it.
            yield name, _summary(import_module(module))
        for name in super().list_commands(ctx):
            yield name, _first_paragraph(self.get_command(ctx, name).help)


def command_of(app: typer.Typer) -> Any:
    """The command that typer makes of an application."""
    return typer.main.get_command(app)


def _command(name: str, module: Any) -> Any:
    if hasattr(module, "app"):
        return command_of(module.app)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, epilog=module.EXAMPLES)(module.run)
    return command_of(app)


def _summary(module: Any) -> str:
    return _first_paragraph(module.app.info.help if hasattr(module, "app") else inspect.getdoc(module.run))


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())
