"""Runs of the `capeval` command in this process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from scripts.goldens.names import COMMAND

__all__ = ["Done", "run", "succeed"]


@dataclass(frozen=True, kw_only=True)
class Done:
    """Result of a command: exit code, standard output and standard error."""

    code: int
    out: str
    err: str


class _Text(io.TextIOWrapper):
    """A text stream in memory with a binary buffer, like `sys.stdout`."""

    def __init__(self, text: str = "") -> None:
        super().__init__(io.BytesIO(text.encode()), encoding="utf-8", newline="\n", write_through=True)

    @property
    def content(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined, no-any-return]


@cache
def _load_main() -> Callable[[], object]:
    (script,) = entry_points(group="console_scripts", name=COMMAND)
    found: Callable[[], object] = script.load()
    return found


@contextmanager
def _replace_input(arguments: tuple[str, ...], given: str) -> Iterator[None]:
    before: tuple[Any, Any] = sys.argv, sys.stdin
    sys.argv, sys.stdin = [COMMAND, *arguments], _Text(given)
    try:
        yield
    finally:
        sys.argv, sys.stdin = before


def run(*arguments: str, given: str = "") -> Done:
    """Run a command.

    Args:
        arguments: Arguments of the command.
        given: Text on its standard input.
    """
    out, err, code = _Text(), _Text(), 0
    with _replace_input(arguments, given), redirect_stdout(out), redirect_stderr(err):
        try:
            _load_main()()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return Done(code=code, out=out.content, err=err.content)


def succeed(*arguments: str, given: str = "") -> str:
    """Run a command and return its standard output.

    Raises:
        RuntimeError: The command failed.
    """
    done = run(*arguments, given=given)
    if done.code:
        raise RuntimeError(f"{COMMAND} {' '.join(arguments)}: exit code {done.code}\n{done.out}{done.err}")
    return done.out
