"""Golden of the command line: help, exit codes, and errors about files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from scripts.goldens.commands import Done, run
from scripts.goldens.masks import mask
from scripts.goldens.names import APP, COMMAND, ENVIRONMENT
from scripts.goldens.registry import Golden, register


def _write(folder: Path) -> None:
    # A fixed path, because the list of resources shows it.
    os.environ[f"{ENVIRONMENT}CACHE"] = "/nonexistent"
    module, _, name = APP.partition(":")
    app: click.Command = getattr(import_module(module), name)
    for words in _list_commands(app, ()):
        shown = [_run_command(words, option) for option in ("--help", "--unknown-option")]
        if not _works_without_arguments(app, words):
            shown.append(_run_command(words))
        (folder / f"{'-'.join(('capeval', *words))}.txt").write_text("\n".join(shown))
    (folder / "version.txt").write_text(_run_command((), "--version"))
    (folder / "invalid-files.txt").write_text("\n".join(_show_invalid_files()))


def _show_invalid_files() -> list[str]:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "references.json").write_text('{"1": ["a dog"], "2": ["a cat"]}')
        (folder / "other.json").write_text('{"1": "a dog", "3": "a bus"}')
        (folder / "broken.json").write_text('{"1": ')
        commands = (
            ("score", "references.json", "missing.json"),
            ("score", "references.json", "broken.json", "--metrics", "BLEU"),
            ("score", "references.json", "other.json", "--metrics", "BLEU"),
            ("check", "broken.json"),
            ("check", "other.json", "--references", "references.json"),
            ("check", "references.json"),
        )
        return [_format(words, _run_process(words, folder)) for words in commands]


def _run_process(words: tuple[str, ...], folder: Path) -> Done:
    """Run a command in a separate process, since a failure closes standard output."""
    program = Path(sys.executable).with_name(COMMAND)
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


def _list_commands(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield from _list_commands(found, (*words, name))


def _works_without_arguments(app: click.Command, words: tuple[str, ...]) -> bool:
    """Return whether a command works without arguments, and so must not run here."""
    found = app
    for word in words:
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word) or found
    required = any(isinstance(each, click.Argument) and each.required for each in found.params)
    required |= any(isinstance(each, click.Option) and each.required for each in found.params)
    return not (required or isinstance(found, click.Group))


def _run_command(words: tuple[str, ...], *options: str) -> str:
    return _format((*words, *options), run(*words, *options))


def _format(words: tuple[str, ...], done: Done) -> str:
    parts = [f"$ {' '.join(('capeval', *words))}\n", done.out]
    if done.err:
        parts += ["--- standard error\n", done.err]
    parts.append(f"--- exit code {done.code}\n")
    return mask("".join(part if part.endswith("\n") or not part else f"{part}\n" for part in parts))


register(Golden(name="command_line", about="help and exit codes", write=_write, process="command line"))
