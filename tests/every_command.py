"""All commands of the command line, found by walking it."""

from __future__ import annotations

from collections.abc import Iterator

import click

from capeval.cli.app import app

__all__ = ["COMMANDS"]


def _walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None, name
        yield from _walk(found, (*path, name))


COMMANDS: dict[tuple[str, ...], click.Command] = dict(_walk(app, ()))
"""The commands by their words, such as `("study", "human")`."""
