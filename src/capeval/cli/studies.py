"""The group of commands of the studies."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from capeval import studies
from capeval.cli.toolkit.click_commands import Group

__all__ = ["Studies", "app", "find_studies"]


def find_studies() -> dict[str, str]:
    """Return the module of each study: of each folder of `capeval.studies` with a `command.py`.

    No study is imported.
    """
    names = [path.parent.name for place in studies.__path__ for path in Path(place).glob("*/command.py")]
    return {name: f"{studies.__name__}.{name}.command" for name in sorted(names)}


class Studies(Group):
    """The studies, in the order of their `ORDER`."""

    def find_modules(self) -> dict[str, str]:
        """Return the module of each study's command by name."""
        return find_studies()

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click has it.
        """Return the names of the studies, in order."""
        found = find_studies()
        return sorted(found, key=lambda name: (import_module(found[name]).ORDER, name))


app = Studies(
    name="study",
    help="The studies of the papers on COCO Captions, CIDEr and nocaps, on your data or theirs.",
    no_args_is_help=True,
)
