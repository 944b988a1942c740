"""Commands made from functions, and their help."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import click
import pytest
from click.testing import CliRunner

from capeval import studies
from capeval._internal.options import check_options
from capeval.cli import commands
from capeval.cli.app import app
from capeval.cli.studies import app as study
from capeval.cli.toolkit.click_commands import Argument, Command, Group, Option


@dataclass(frozen=True, kw_only=True)
class Finish:
    """Options of the last layer."""

    color: Annotated[
        Literal["red", "dark-blue"], Option("--color", "-c", help="Color of the last layer.")
    ] = "dark-blue"
    share: Annotated[float, Option(between=(0, 1), help="Part of the wall.", show_default="half")] = 0.5
    coats: Annotated[tuple[int, ...], Option(help="Numbers of coats.")] = ()

    def __post_init__(self) -> None:
        check_options(self)


def paint(
    walls: Annotated[list[Path], Argument(help="Walls to paint.")],
    finish: Finish,
    layers: Annotated[int, Option(min=1, max=8, help="Number of layers.")] = 2,
    doors: Annotated[list[str] | None, Option("--door", help="A door to leave out.")] = None,
    note: Annotated[str | None, Option(metavar="TEXT", help="A note.")] = None,
    quick: Annotated[bool, Option("--quick/--slow", help="How.")] = False,
) -> None:
    """Paints walls.

    It takes a while.
    """
    print([walls, finish, layers, doors, note, quick])


def lend(
    tool: Annotated[str, Argument(help="Which.")] = "brush",
    to: Annotated[Path | None, Argument(metavar="PERSON", help="To whom.", show_default="nobody")] = None,
    again: Annotated[bool, Option("--again", help="Once more.")] = False,
) -> None:
    """Lends a tool."""
    print([tool, to, again])


def _run(command: click.Command, *arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(command, list(arguments), prog_name="it")
    return done.exit_code, done.output


PAINT = Command(paint, "paint", "\b\nExamples:\n  " + "it wall " * 20)
LEND = Command(lend, "lend")


def test_values_come_as_their_types() -> None:
    assert _run(
        PAINT, "a", "b", "-c", "red", "--layers", "4", "--coats", "1,5", "--door", "x", "--quick"
    ) == (
        0,
        f"{[[Path('a'), Path('b')], Finish(color='red', coats=(1, 5)), 4, ['x'], None, True]}\n",
    )
    assert _run(PAINT, "a") == (0, f"{[[Path('a')], Finish(), 2, None, None, False]}\n")
    assert _run(LEND) == (0, f"{['brush', None, False]}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'WALLS...'."),
        (["a", "--layers", "9"], "9 is not in the range 1<=x<=8."),
        (["a", "--share", "nan"], "nan is not between 0 and 1."),
        (["a", "--share", "1"], "1.0 is not between 0 and 1."),
        (["a", "--coats", "1,b"], "must be comma-separated integers, such as 1,5,10 (got '1,b')"),
        (["a", "--layers", "x"], "'x' is not a valid integer range."),
        (["a", "-c", "DARK_BLUE"], "'DARK_BLUE' is not one of 'red', 'dark-blue'."),
        (["a", "--colur", "red"], "No such option '--colur'."),
    ],
)
def test_wrong_values_are_refused(arguments: list[str], message: str) -> None:
    code, output = _run(PAINT, *arguments)
    assert code == 2
    assert message in output
    assert "Usage: it [OPTIONS] WALLS..." in output


def test_help_says_what_there_is() -> None:
    code, text = _run(PAINT, "--help")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert code == 0
    assert "WALLS... Walls to paint. [required]" in lines
    assert "-c, --color [red|dark-blue] Color of the last layer. [default: dark-blue]" in lines
    assert "--coats N,... Numbers of coats." in lines
    assert "[default: (half)]" in text
    # An example that is wrapped can't be copied.
    assert ("it wall " * 20).strip() in lines
    _, text = _run(LEND, "--help")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "Usage: it [OPTIONS] [TOOL] [PERSON]" in lines
    assert "TOOL Which. [default: brush]" in lines
    assert "PERSON To whom. [default: (nobody)]" in lines


def test_a_group_lists_whole_sentences_and_imports_its_modules_late() -> None:
    class Lazy(Group):
        modules: ClassVar[Mapping[str, str]] = {"later": "tests.no_such_module"}

    group = Lazy(commands=[PAINT, LEND])
    assert _run(group, "lend", "ladder") == (0, f"{['ladder', None, False]}\n")
    assert isinstance(CliRunner().invoke(group, ["later"]).exception, ModuleNotFoundError)
    text = _run(Group(commands=[PAINT, LEND]), "--help")[1]
    assert [line.split() for line in text.splitlines()[-2:]] == [
        ["paint", "Paints", "walls."],
        ["lend", "Lends", "a", "tool."],
    ]


def test_a_misspelled_command_is_told_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No such command 'humna'. Did you mean 'human'?" in _run(study, "humna")[1]
    assert _run(app, "scor")[0] == 2
    # Also commands of distributions that are not installed.
    monkeypatch.setattr("capeval.cli.app._find_plugins", dict)
    assert "Did you mean 'server'" in _run(app, "serve")[1]
    assert "No such command 'xyzzy'.\n" in _run(app, "xyzzy")[1]


def test_every_module_with_a_command_is_registered() -> None:
    found = set()
    for package in (commands, studies):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            is_command = package is commands or module.name.endswith(".command")
            if is_command and hasattr(import_module(module.name), "EXAMPLES"):
                found.add(module.name)
    registered = {*app.modules.values(), *study.find_modules().values()}
    assert found
    # Those that are groups have their examples elsewhere.
    assert registered - found == {
        "capeval.cli.commands.data",
        "capeval.cli.commands.resources",
        "capeval.cli.studies",
    }
    # A command of the group `resources`.
    assert found - registered == {"capeval.cli.commands.frequencies"}
