"""The `capeval study` command group."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from capeval import studies
from capeval.cli.toolkit.click_commands import Group

__all__ = ["Studies", "app", "find_studies"]


def find_studies() -> dict[str, str]:
    """Return the command module of each study by name, without importing it.

    A study is a folder of `capeval.studies` with a `command.py`. The folder `coco_paper` contains the
    study `coco-paper`.
    """
    names = [path.parent.name for place in studies.__path__ for path in Path(place).glob("*/command.py")]
    return {name.replace("_", "-"): f"{studies.__name__}.{name}.command" for name in sorted(names)}


class Studies(Group):
    """The command group of studies, sorted by their `ORDER`."""

    def find_modules(self) -> dict[str, str]:
        """Return the command module of each study by name."""
        return find_studies()

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature.
        """Return the sorted names of the studies."""
        found = find_studies()
        return sorted(found, key=lambda name: (import_module(found[name]).ORDER, name))


app = Studies(
    name="study",
    help="Reproduce the experiments of the COCO Captions, CIDEr and nocaps papers.",
    no_args_is_help=True,
)
