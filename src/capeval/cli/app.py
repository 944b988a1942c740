"""The commands, and what happens when one fails."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from capeval import __version__
from capeval.cli.console import deliver
from capeval.cli.groups import Group, command_of
from capeval.errors import CapevalError, CapevalWarning, DependencyError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["app", "main"]

ADDED = "capeval.commands"


class _Commands(Group):
    """The commands of this package, then those that other packages add by entry points of `ADDED`.

    This is how the server adds its commands to `capeval`, which itself does not import the server.
    """

    modules: ClassVar = {
        "score": "capeval.cli.score",
        "compare": "capeval.cli.compare",
        "check": "capeval.cli.check",
        "submit": "capeval.cli.submit",
        "tokenize": "capeval.cli.tokenize",
        "align": "capeval.cli.align",
        "scene-graph": "capeval.cli.scene_graph",
        "data": "capeval.cli.data",
        "demo": "capeval.cli.demo",
        "metrics": "capeval.cli.metrics",
        "resources": "capeval.cli.resources",
        "study": "capeval.cli.studies.app",
    }

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *sorted(_added())]

    def summaries(self, ctx: Any) -> Iterator[tuple[str, str]]:
        yield from super().summaries(ctx)
        for name in sorted(_added()):
            yield name, self.get_command(ctx, name).help

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        # Entry points are searched only for an unknown name: that takes longer than everything else.
        known = super().get_command(ctx, cmd_name)
        if known is not None or cmd_name not in (added := _added()):
            return known
        try:
            return command_of(added[cmd_name].load())
        except ImportError as error:
            missing = f"{cmd_name!r} needs {error.name}, which is missing"
            raise DependencyError(f"{missing}: pip install 'capeval[{cmd_name}]'") from None


@cache
def _added() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=ADDED)}


app = typer.Typer(
    name="capeval",
    cls=_Commands,
    help="Scores image captions with the metrics of COCO, as the reference computes them and without Java.",
    no_args_is_help=True,
    # Typer's help by Rich was tried: it takes twice as long, 0.1 s more, and breaks the lines of examples.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        deliver(f"capeval {__version__}\n", None)
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Runs the command line; bad input is one line on standard error and exit code 2."""
    _open_closed_streams()
    _show_warnings_in_one_line()
    try:
        try:
            app(prog_name="capeval")
        finally:
            # Flushed here, where a full disk can still be reported.
            sys.stdout.flush()
    except CapevalError as error:
        _fail(str(error))
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except OSError as error:
        _drop_output()
        named = f"{error.filename}: " if error.filename is not None else ""
        _fail(f"{named}{error.strerror or error}")


def _open_closed_streams() -> None:
    """Opens the standard streams that the caller closed, such as with `>&-`, on the null device."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _show_warnings_in_one_line() -> None:
    """Shows a warning of capeval as one line on standard error."""
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *arguments: Any, **options: Any) -> None:
        if issubclass(category, CapevalWarning):
            print(f"capeval: warning: {' '.join(str(message).split())}", file=sys.stderr)
        else:
            shown(message, category, *arguments, **options)

    warnings.showwarning = show


def _drop_output() -> None:
    """Redirects standard output to the null device: Python would fail again when it flushes it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> None:
    print(f"capeval: error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)
