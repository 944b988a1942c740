"""`capeval study plan`: the questions for people who judge captions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from capeval.cli.console import examples, system_names
from capeval.cli.options import Seed
from capeval.cli.studies.output import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from capeval.report import Grid
    from capeval.studies.protocol import Pair, Triplet

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "plan"
EXAMPLES = examples(
    "capeval study plan captions.json --pairs HC=200,HI=200 --output plan",
    "capeval study plan captions.json a.json b.json --pairs HM=100,MM=100 --per-pair 20 --seed 7 -o plan",
)


def run(
    captions: Annotated[
        Path, typer.Argument(metavar="CAPTIONS", help="File of people's captions.", show_default=False)
    ],
    results: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RESULTS", help="Files of results, one a system.", show_default=False),
    ] = None,
    pairs: Annotated[
        str, typer.Option(metavar="CLASS=N,...", help="How many pairs of HC, HI, HM and MM.")
    ] = "HC=100,HI=100",
    held_out: Annotated[
        int, typer.Option(min=1, help="Captions of each image to judge; the others are references.")
    ] = 2,
    per_pair: Annotated[
        int | None, typer.Option(min=1, help="References that each pair is shown with.", show_default="all")
    ] = None,
    judgements: Annotated[int, typer.Option(min=1, help="People to ask for each triplet.")] = 3,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Write plan.csv, pairs.csv and triplets.csv here."
        ),
    ] = None,
) -> None:
    """Plans triplets: which of two captions is more similar to a reference? (CIDEr paper, section 3).

    HC pairs two people's captions of the image, HI one with a caption of another image, HM one with a
    system's, MM those of two systems. Triplets are in random order, their sides balanced in each pair.
    """
    from capeval.formats import load_candidates, load_references
    from capeval.studies import protocol

    counts = _counts(pairs)
    candidates, references = protocol.held_out(load_references(captions), held_out, seed=seed)
    machines = {}
    for name, path in zip(system_names(results or []), results or [], strict=True):
        found = load_candidates(path)
        machines[name] = {image: found[image][0] for image in found}
    planned = protocol.plan_pairs(candidates, machines, counts, seed=seed)
    triplets = protocol.plan_triplets(
        planned, references, per_pair=per_pair, judgements=judgements, seed=seed
    )
    grids = {"plan": _summary(counts, planned, triplets)}
    files = {"pairs": lambda: _pairs(planned), "triplets": lambda: _triplets(triplets)}
    show(grids, {}, output, files=files)


def _counts(given: str) -> dict[str, int]:
    from capeval.errors import OptionError

    counts: dict[str, int] = {}
    for part in given.split(","):
        kind, _, number = part.strip().partition("=")
        if not number.isdecimal() or kind in counts:
            raise OptionError(
                f"'--pairs' must be numbers of classes, each once, such as HC=200,MM=100 (got {given!r})"
            )
        counts[kind] = int(number)
    return counts


def _summary(counts: dict[str, int], pairs: Sequence[Pair], triplets: Sequence[Triplet]) -> Grid:
    from capeval.report import Cell, Grid

    rows = []
    for kind in counts:
        chosen = [each for each in triplets if pairs[each.pair].kind == kind]
        numbers = (counts[kind], len(chosen), sum(each.judgements for each in chosen))
        rows.append((Cell(value=kind), *(Cell(value=number) for number in numbers)))
    return Grid(columns=("Class", "Pairs", "Triplets", "Judgements"), rows=tuple(rows))


def _pairs(pairs: Sequence[Pair]) -> Grid:
    from capeval.report import Cell, Grid

    rows = tuple(
        tuple(
            Cell(value=value)
            for value in (number, str(pair.image), pair.kind, *pair.candidates, *pair.systems)
        )
        for number, pair in enumerate(pairs)
    )
    columns = ("pair", "image_id", "class", "first", "second", "first_by", "second_by")
    return Grid(columns=columns, rows=rows)


def _triplets(triplets: Sequence[Triplet]) -> Grid:
    from capeval.report import Cell, Grid

    rows = tuple(
        tuple(
            Cell(value=value)
            for value in (
                number,
                each.pair,
                each.reference,
                each.left,
                each.right,
                "second" if each.swapped else "first",
                each.judgements,
            )
        )
        for number, each in enumerate(triplets)
    )
    columns = ("triplet", "pair", "reference", "left", "right", "on_the_left", "judgements")
    return Grid(columns=columns, rows=rows)
