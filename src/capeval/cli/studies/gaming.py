"""`capeval study gaming`: how far captions made for a metric can push it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from capeval.cli.console import Steps, examples
from capeval.cli.options import Seed
from capeval.cli.studies.output import Folder, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from capeval.report import Grid
    from capeval.studies.gaming import Gamed

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "gaming"
EXAMPLES = examples(
    "capeval study gaming", "capeval study gaming --references references.json --results results.json"
)


def run(
    references: Annotated[
        Path | None, typer.Option(help="File of references.", show_default="COCO val2014")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(help="File of honest captions.", show_default="one reference of each image"),
    ] = None,
    images: Annotated[int, typer.Option(min=2, help="Take the first so many images.")] = 5000,
    seed: Seed = 0,
    output: Folder = None,
) -> None:
    """Pushes metrics with captions that are made for them and not for people (CIDEr paper, section 8).

    Shows the corpus score of honest captions and of each attack, and on how many of the images an attack
    scores above the honest caption.
    """
    from capeval.benchmarks import coco
    from capeval.formats import load_candidates, load_references
    from capeval.studies.gaming import game

    with Steps(2) as steps:
        steps.next("Reading captions")
        given = coco.captions() if references is None else load_references(references)
        given = given.select(given.image_ids[:images])
        if results is None:
            given, honest = coco.hold_out(given, seed=seed)
        else:
            found = load_candidates(results)
            honest = found.select(given.image_ids)
        steps.next("Gaming metrics")
        made = game(given, honest)
    grids = {"gaming": _scores(made), "gaming-better": _better(made), "gaming-examples": _examples(made)}
    figures: dict[str, Callable[[], Figure]] = {"gaming": lambda: _figure(made)}
    show(grids, figures, output)


def _name(gamed: Gamed) -> str:
    return "honest captions" if gamed.attack is None else gamed.attack.name


def _scores(made: Sequence[Gamed]) -> Grid:
    from capeval.report.grids import Cell, Grid

    rows = tuple(
        (
            Cell(value=_name(gamed)),
            Cell(value="" if gamed.attack is None else gamed.attack.knows),
            *(Cell(value=score) for score in gamed.scores.values()),
        )
        for gamed in made
    )
    return Grid(columns=("Captions", "Knows", *made[0].scores), rows=rows)


def _better(made: Sequence[Gamed]) -> Grid:
    from capeval.report.grids import Cell, Grid

    rows = tuple(
        (Cell(value=_name(gamed)), *(Cell(value=100 * part, digits=1) for part in gamed.better.values()))
        for gamed in made[1:]
    )
    return Grid(columns=("Above the honest caption (% of images)", *made[0].better), rows=rows)


def _examples(made: Sequence[Gamed]) -> Grid:
    from capeval.report.grids import Cell, Grid

    rows = tuple((Cell(value=_name(gamed)), Cell(value=gamed.example)) for gamed in made)
    return Grid(columns=("Captions", "Of the first image"), rows=rows)


def _figure(made: Sequence[Gamed]) -> Figure:
    from capeval.report.studies.gaming import ratio_map

    honest = made[0].scores
    ratios = [
        [gamed.scores[name] / honest[name] if honest[name] else float("nan") for name in honest]
        for gamed in made[1:]
    ]
    return ratio_map(ratios, [_name(gamed) for gamed in made[1:]], list(honest))
