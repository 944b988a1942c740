"""The group of commands of the studies."""

from __future__ import annotations

from typing import ClassVar

import typer

from capeval.cli.groups import Group

__all__ = ["app"]

STUDIES = (
    "human",
    "words",
    "plan",
    "votes",
    "consensus",
    "ranking",
    "gaming",
    "correlation",
    "diversity",
    "domains",
    "choose",
    "build",
)


class _Studies(Group):
    modules: ClassVar = {name: f"capeval.cli.studies.{name}" for name in STUDIES}


app = typer.Typer(
    name="study",
    cls=_Studies,
    help="The studies of the papers on COCO Captions, CIDEr and nocaps, on your data or theirs.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)


@app.callback()
def _study() -> None:
    pass
