"""The group of commands of the studies."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import ClassVar

import click

from capeval import studies
from capeval.cli.toolkit.click_commands import Group

__all__ = ["Studies", "app", "find_studies"]


def find_studies() -> dict[str, str]:
    """Return the module of each study: of each folder of `capeval.studies` with a `command.py`.

    No study is imported.
    """
    folders = [Path(path) for path in studies.__path__]
    return {
        found.name: f"{studies.__name__}.{found.name}.command"
        for found in iter_modules(studies.__path__)
        if found.ispkg and any((folder / found.name / "command.py").is_file() for folder in folders)
    }


class Studies(Group):
    """The studies, in the order of their `ORDER`."""

    modules: ClassVar[Mapping[str, str]] = find_studies()

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click has it.
        """Return the names of the studies, in order."""
        return sorted(self.modules, key=lambda name: (import_module(self.modules[name]).ORDER, name))


app = Studies(
    name="study",
    help="The studies of the papers on COCO Captions, CIDEr and nocaps, on your data or theirs.",
    no_args_is_help=True,
)
