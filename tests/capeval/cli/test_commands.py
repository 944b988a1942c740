"""Commands made from functions, and their help."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, ClassVar

import click
import pytest
from click.testing import CliRunner

from capeval import studies
from capeval.cli import commands
from capeval.cli.app import app
from capeval.cli.studies import app as study
from capeval.cli.toolkit.click_commands import Argument, Command, Group, Option


class Colour(StrEnum):
    """Colours."""

    RED = "red"
    DARK_BLUE = "dark-blue"


def _even(number: int) -> int:
    if number % 2:
        raise click.BadParameter(f"{number} is odd.")
    return number


def paint(
    walls: Annotated[list[Path], Argument(metavar="WALL...", help="What to paint.")],
    colour: Annotated[Colour, Option("--colour", "-c", help="The colour.")] = Colour.DARK_BLUE,
    layers: Annotated[int, Option(min=1, max=8, callback=_even, help="How many layers.")] = 2,
    share: Annotated[float, Option(help="How much of it.", show_default="all")] = 1.0,
    doors: Annotated[list[str] | None, Option("--door", help="A door to leave out.")] = None,
    note: Annotated[str | None, Option(metavar="TEXT", help="A note.")] = None,
    quick: Annotated[bool, Option("--quick/--slow", help="How.")] = False,
) -> None:
    """Paints walls.

    It takes a while.
    """
    print([walls, colour, layers, share, doors, note, quick])


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
        PAINT, "a", "b", "-c", "red", "--layers", "4", "--share", "0.5", "--door", "x", "--quick"
    ) == (
        0,
        f"{[[Path('a'), Path('b')], Colour.RED, 4, 0.5, ['x'], None, True]}\n",
    )
    assert _run(PAINT, "a") == (0, f"{[[Path('a')], Colour.DARK_BLUE, 2, 1.0, None, None, False]}\n")
    assert _run(LEND) == (0, f"{['brush', None, False]}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'WALL...'."),
        (["a", "--layers", "9"], "9 is not in the range 1<=x<=8."),
        (["a", "--layers", "3"], "3 is odd."),
        (["a", "--layers", "x"], "'x' is not a valid integer range."),
        (["a", "-c", "DARK_BLUE"], "'DARK_BLUE' is not one of 'red', 'dark-blue'."),
        (["a", "--colur", "red"], "No such option '--colur'."),
    ],
)
def test_wrong_values_are_refused(arguments: list[str], message: str) -> None:
    code, output = _run(PAINT, *arguments)
    assert code == 2
    assert message in output
    assert "Usage: it [OPTIONS] WALL..." in output


def test_help_says_what_there_is() -> None:
    code, text = _run(PAINT, "--help")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert code == 0
    assert "WALL... What to paint. [required]" in lines
    assert "-c, --colour [red|dark-blue] The colour. [default: dark-blue]" in lines
    assert "[default: (all)]" in text
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


def test_a_misspelt_command_is_told_the_nearest() -> None:
    assert "No such command 'humna'. Did you mean 'human'?" in _run(study, "humna")[1]
    assert _run(app, "scor")[0] == 2
    assert "No such command 'xyzzy'.\n" in _run(app, "xyzzy")[1]


def test_every_module_with_a_command_is_registered() -> None:
    found = set()
    for package in (commands, studies):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            is_command = package is commands or module.name.endswith(".command")
            if is_command and hasattr(import_module(module.name), "EXAMPLES"):
                found.add(module.name)
    registered = {*app.modules.values(), *study.modules.values()}
    assert found
    # Those that are groups have their examples elsewhere.
    assert registered - found == {"capeval.cli.commands.resources", "capeval.cli.studies"}
    assert found <= registered
