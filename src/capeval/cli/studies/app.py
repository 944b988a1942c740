"""The group of commands of the studies."""

from __future__ import annotations

from types import ModuleType

import typer

from capeval.cli.studies import (
    build,
    choose,
    consensus,
    correlation,
    diversity,
    domains,
    gaming,
    human,
    plan,
    ranking,
    votes,
    words,
)

__all__ = ["STUDIES", "app"]

# Each module has a NAME, EXAMPLES and a function `run`, as the modules of other commands do.
STUDIES: tuple[ModuleType, ...] = (
    human,
    words,
    plan,
    votes,
    consensus,
    ranking,
    gaming,
    correlation,
    diversity,
    domains,
    choose,
    build,
)

app = typer.Typer(
    name="study",
    help="The studies of the papers on COCO Captions, CIDEr and nocaps, on your data or theirs.",
    no_args_is_help=True,
)
for study in STUDIES:
    app.command(study.NAME, epilog=study.EXAMPLES)(study.run)
