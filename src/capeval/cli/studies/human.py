"""`capeval study human`: what people score against people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from capeval.cli.console import Steps, examples
from capeval.cli.options import Metrics, Seed, metric_names
from capeval.cli.studies.output import CheckpointFile, Folder, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from capeval.report import Grid
    from capeval.studies.human import HumanPerformance

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "human"
EXAMPLES = examples(
    "capeval study human",
    "capeval study human --references 1,2,3,4 --draws 10 --output human",
    "capeval study human captions.json --leave-one-out",
)


def run(
    captions: Annotated[
        Path | None,
        typer.Argument(metavar="CAPTIONS", help="File of captions.", show_default="COCO val2014"),
    ] = None,
    metrics: Metrics = None,
    references: Annotated[
        str | None,
        typer.Option(
            "--references",
            "-k",
            metavar="N,...",
            help="Numbers of references.",
            show_default="all captions but one",
        ),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="How often to draw the captions held out.")] = 5,
    seed: Seed = 0,
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Hold out every caption once, without chance.")
    ] = False,
    checkpoint: CheckpointFile = None,
    output: Folder = None,
) -> None:
    """Scores one human caption of each image against others of the image, several times.

    Beside COCO val2014 stands what the paper reports for people on its test set (Chen et al. 2015, Table 1).
    """
    from capeval.benchmarks import coco
    from capeval.cli.needs import prepare_needs
    from capeval.errors import OptionError
    from capeval.formats import load_references
    from capeval.studies import human

    if leave_one_out and references is not None:
        raise OptionError("'--leave-one-out' takes all captions but one (got '--references' too)")
    names, numbers = metric_names(metrics), _numbers(references)
    given = coco.captions("val2014") if captions is None else load_references(captions)
    prepare_needs(names)
    rounds = int(given.counts.max()) if leave_one_out else draws * len(numbers)
    with Steps(rounds) as steps:
        if leave_one_out:
            made = human.leave_one_out(given, names, progress=steps.next, checkpoint=checkpoint)
            results: tuple[HumanPerformance, ...] = (made,)
        else:
            results = human.human_performance(
                given,
                names,
                references=numbers,
                draws=draws,
                seed=seed,
                progress=steps.next,
                checkpoint=checkpoint,
            )
    figures = {}
    if sum(result.references is not None for result in results) > 1:
        figures["human-performance"] = lambda: _figure(results, captions is None)
    grids = {"human-performance": _table(results, captions is None), "draws": _draws(results)}
    show(grids, figures, output)


def _numbers(given: str | None) -> tuple[int | None, ...]:
    from capeval.errors import OptionError

    if given is None:
        return (None,)
    try:
        return tuple(int(part) for part in given.split(","))
    except ValueError:
        raise OptionError(f"'--references' must be integers by comma (got {given!r})") from None


def _label(result: HumanPerformance) -> str:
    return "all others" if result.references is None else f"c{result.references}"


def _table(results: tuple[HumanPerformance, ...], beside_paper: bool) -> Grid:
    from capeval.benchmarks import coco
    from capeval.report import Cell, Grid

    rows = []
    for result in results:
        for name, values, digits in (("mean", result.mean, 3), ("spread", result.spread, 4)):
            cells = (Cell(value=float(v) if v == v else None, digits=digits) for v in values)
            rows.append((Cell(value=_label(result)), Cell(value=name), *cells))
    if beside_paper:
        paper = (Cell(value=coco.HUMAN.get(name)) for name in results[0].names)
        rows.append((Cell(value="c5"), Cell(value="paper, test set"), *paper))
    return Grid(columns=("References", "", *results[0].names), rows=tuple(rows))


def _draws(results: tuple[HumanPerformance, ...]) -> Grid:
    from capeval.report import Cell, Grid

    rows = tuple(
        (
            Cell(value=_label(result)),
            Cell(value=number),
            *(Cell(value=value, digits=4) for value in row.tolist()),
        )
        for result in results
        for number, row in enumerate(result.draws, start=1)
    )
    return Grid(columns=("References", "Draw", *results[0].names), rows=rows)


def _figure(results: tuple[HumanPerformance, ...], beside_paper: bool) -> Figure:
    from capeval.benchmarks import coco
    from capeval.report.studies.human import human_curves

    return human_curves(results, coco.HUMAN if beside_paper else {})
