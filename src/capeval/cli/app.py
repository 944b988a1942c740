"""The `capeval` command: subcommands, plug-ins, and error handling."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, ClassVar

import click

from capeval import __version__
from capeval._internal.atomic_write import add_path_to_errors
from capeval._internal.optional_packages import make_missing_package_error
from capeval.cli.toolkit.click_commands import Group
from capeval.cli.toolkit.output import adapt_message, deliver
from capeval.errors import CapevalError, CapevalWarning, DependencyError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["app", "main", "run"]

ADDED = "capeval.commands"
# Commands of capeval's other distributions, and the extras that install them.
_EXTRAS = {"baselines": "decoding", "server": "server"}
# Help is as wide as the terminal, up to this number of columns, because longer lines are hard to read.
# Without a terminal, it has 80 columns.
_WIDEST_HELP = 110


class _Commands(Group):
    """The commands of this package, then commands from entry points.

    An entry point in the group `ADDED` refers to a click command. The server adds its commands to `capeval`
    in this way, so that `capeval` does not import the server.
    """

    modules: ClassVar[Mapping[str, str]] = {
        "score": "capeval.cli.commands.score",
        "compare": "capeval.cli.commands.compare",
        "verify": "capeval.cli.commands.verify",
        "check": "capeval.cli.commands.check",
        "browse": "capeval.cli.commands.browse",
        "submit": "capeval.cli.commands.submit",
        "tokenize": "capeval.cli.commands.tokenize",
        "align": "capeval.cli.commands.align",
        "scene-graph": "capeval.cli.commands.scene_graph",
        "data": "capeval.cli.commands.data",
        "demo": "capeval.cli.commands.demo",
        "metrics": "capeval.cli.commands.metrics",
        "resources": "capeval.cli.commands.resources",
        "study": "capeval.cli.studies",
    }

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if sys.stdout.isatty():
            extra.setdefault("max_content_width", _WIDEST_HELP)
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *sorted(_find_plugins())]

    def list_known(self, ctx: click.Context) -> list[str]:
        return sorted({*self.list_commands(ctx), *_EXTRAS})

    def help_of(self, name: str) -> str | None:
        try:
            return _load_plugin(name).help
        except Exception as error:
            return f"Not available: {error}"

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # Entry points are searched only for an unknown name, since the search is slow.
        known = super().get_command(ctx, cmd_name)
        if known is None and cmd_name in _find_plugins():
            return _load_plugin(cmd_name)
        if known is None and (extra := _EXTRAS.get(cmd_name)):
            raise DependencyError(
                f"{cmd_name!r} is a command of capeval-{extra}, which is not installed; run"
                f' pip install "capeval[{extra}]"'
            )
        return known

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # Shells expect this exit code and no message; click prints "Aborted!" and exits with 1.
            sys.exit(130)


@cache
def _find_plugins() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=ADDED)}


def _load_plugin(name: str) -> click.Command:
    """Return an added command.

    Raises:
        DependencyError: A module that it needs is missing, or its distribution is broken.
    """
    entry = _find_plugins()[name]
    distribution = entry.dist.name if entry.dist is not None else entry.module
    try:
        command = entry.load()
    except ModuleNotFoundError as error:
        found = make_missing_package_error(f"{name!r} needs", error, name)
        if found is not error:
            raise found from None
        if error.name is None or find_spec(error.name.partition(".")[0]) is not None:
            raise _make_plugin_error(name, distribution, f"{type(error).__name__}: {error}") from None
        raise DependencyError(
            f"{name!r} needs the missing module {error.name}; reinstall the package that provides this"
            f" command ({distribution})"
        ) from None
    except (Exception, SystemExit) as error:
        # The module of a plug-in can raise any exception when it is imported.
        raise _make_plugin_error(name, distribution, f"{type(error).__name__}: {error}") from None
    if not isinstance(command, click.Command):
        raise _make_plugin_error(
            name, distribution, f"expected a click command (got {type(command).__name__})"
        )
    return command


def _make_plugin_error(name: str, distribution: str, reason: str) -> DependencyError:
    return DependencyError(
        f"{name!r} can't be loaded: {reason}; update or uninstall {distribution}, which provides it"
    )


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        deliver(f"capeval {__version__}\n", None)
        context.exit()


def _print_citation(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from capeval.metrics import METRICS
    from capeval.metrics.citations import cite_metrics

    deliver(cite_metrics(make() for make in METRICS.values()), None)
    context.exit()


def _print_completion(context: click.Context, _: click.Parameter, shell: str | None) -> None:
    if shell is None or context.resilient_parsing:
        return
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None  # noqa: S101 - click supports all shells of the option.
    deliver(made(app, {}, "capeval", "_CAPEVAL_COMPLETE").source() + "\n", None)
    context.exit()


app = _Commands(
    name="capeval",
    help="Evaluate image captions with the COCO metrics (BLEU, METEOR, ROUGE, CIDEr, SPICE).",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Show the version and exit.",
        ),
        click.Option(
            ["--cite"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_citation,
            help="Print BibTeX of capeval and of the metrics' papers and exit.",
        ),
        click.Option(
            ["--show-completion"],
            type=click.Choice(["bash", "zsh", "fish"]),
            is_eager=True,
            expose_value=False,
            callback=_print_completion,
            help="Print the shell completion script and exit.",
        ),
    ],
)


def main() -> None:
    """Run the command line."""
    # At exit, Python collects reference cycles repeatedly, which takes 5% of the time of scoring val2014.
    # Frozen objects are skipped.
    atexit.register(gc.freeze)
    run(app, "capeval")


def run(command: click.Command, name: str) -> None:
    """Run a command; report expected errors in one line, with exit code 2.

    Errors are printed to standard error. Closed standard output is also such an error, before the command
    starts. This includes commands that write a file, because they also print notes and paths.

    Args:
        command: The command, which parses the arguments of the process.
        name: The program name in its help.
    """
    closed = sys.stdout is None
    _open_closed_streams()
    if closed:
        _fail("standard output is closed; redirect it to a file, or to /dev/null to discard it")
    _show_warnings_in_one_line()
    try:
        try:
            command(prog_name=name)
        finally:
            # Flushed here, since a full disk can still be reported.
            with add_path_to_errors("standard output"):
                sys.stdout.flush()
    except CapevalError as error:
        _fail(str(error))
    except ImportError as error:
        found = make_missing_package_error("this command needs", error, _get_extra(error))
        if found is error:
            raise
        _fail(str(found))
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except OSError as error:
        _drop_output()
        named = f"{error.filename}: " if error.filename is not None else ""
        _fail(f"{named}{error.strerror or error}")


def _get_extra(error: ImportError) -> str:
    """Return the extra of the package with the failed import, or "" for the library."""
    packages = {frame.f_globals["__name__"].partition(".")[0] for frame, _ in walk_tb(error.__traceback__)}
    return "server" if "capeval_server" in packages else ""


def _open_closed_streams() -> None:
    """Redirect closed standard streams to the null device.

    Otherwise the next opened files, here or in a child process, would get their descriptors, and messages
    would be written to those files.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(null, True)
            setattr(sys, name, os.fdopen(null, mode, encoding="utf-8"))


def _show_warnings_in_one_line() -> None:
    """Show capeval's warnings as one line on standard error.

    A warning that can't be written, such as to a full disk, is dropped, so that the result is not lost.
    """
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *arguments: Any, **options: Any) -> None:
        if issubclass(category, CapevalWarning):
            with suppress(OSError):
                print(f"capeval: warning: {adapt_message(str(message))}", file=sys.stderr)
        else:
            shown(message, category, *arguments, **options)

    warnings.showwarning = show


def _drop_output() -> None:
    """Redirect standard output to the null device, since the flush at exit would fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> None:
    with suppress(OSError):
        print(f"capeval: error: {adapt_message(message)}", file=sys.stderr)
    sys.exit(2)
