"""Command line: help and exit codes of all commands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click

from scripts.goldens.commands import Done, run
from scripts.goldens.masks import mask
from scripts.goldens.names import APP, ENVIRONMENT
from scripts.goldens.registry import Golden, register


def _write(folder: Path) -> None:
    # The list of resources shows its path.
    os.environ[f"{ENVIRONMENT}CACHE"] = "/nonexistent"
    module, _, name = APP.partition(":")
    app: click.Command = getattr(import_module(module), name)
    for words in _commands(app, ()):
        shown = [_shown(words, option) for option in ("--help", "--unknown-option")]
        if not _starts_something(app, words):
            shown.append(_shown(words))
        (folder / f"{'-'.join(('capeval', *words))}.txt").write_text("\n".join(shown))
    (folder / "version.txt").write_text(_shown((), "--version"))


def _commands(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield from _commands(found, (*words, name))


def _starts_something(app: click.Command, words: tuple[str, ...]) -> bool:
    """Return whether a command does its work without arguments: such a command is not run here."""
    found = app
    for word in words:
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word) or found
    required = any(isinstance(each, click.Argument) and each.required for each in found.params)
    required |= any(isinstance(each, click.Option) and each.required for each in found.params)
    return not (required or isinstance(found, click.Group))


def _shown(words: tuple[str, ...], *options: str) -> str:
    done: Done = run(*words, *options)
    parts = [f"$ {' '.join(('capeval', *words, *options))}\n", done.out]
    if done.err:
        parts += ["--- standard error\n", done.err]
    parts.append(f"--- exit code {done.code}\n")
    return mask("".join(part if part.endswith("\n") or not part else f"{part}\n" for part in parts))


register(Golden(name="command_line", about="help and exit codes", write=_write, process="command line"))
