"""`capeval study votes`: the winners of a plan's pairs, from what people answered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from capeval.cli.console import examples
from capeval.cli.studies.output import Folder, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from capeval.report import Grid

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "votes"
EXAMPLES = examples("capeval study votes plan votes.csv", "capeval study votes plan votes.csv -o winners")


def run(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="Folder of a planned study.", show_default=False)
    ],
    votes: Annotated[
        Path,
        typer.Argument(metavar="VOTES", help="CSV: triplet, choice (left or right).", show_default=False),
    ],
    output: Folder = None,
) -> None:
    """Counts the answers to planned triplets: a majority for each triplet, a winner for each pair.

    Ties of triplets are no vote, and a tie of a pair is shown as one. Alpha (Krippendorff's) says how far
    people agree on triplets.
    """
    import numpy as np

    from capeval.formats.judgements import load_votes
    from capeval.studies.protocol import majority, winners

    pairs, pair_of, answers = load_votes(plan, votes)
    most = max(map(len, answers), default=0)
    given = np.array([[*each, *[0] * (most - len(each))] for each in answers]).reshape(len(answers), most)
    decided = majority(given)
    of_pair = [decided[np.array(pair_of) == number] for number in range(len(pairs))]
    won = winners(of_pair)
    grids = {
        "agreement": _agreement(pairs, np.array(pair_of), given, decided, won),
        "wins": _wins(pairs, won),
    }
    show(grids, {}, output, files={"winners": lambda: _winners(pairs, of_pair, won)})


def _agreement(
    pairs: Sequence[tuple[str, str, str]],
    pair_of: NDArray[np.int64],
    given: NDArray[np.int64],
    decided: NDArray[np.int64],
    won: NDArray[np.int64],
) -> Grid:
    import numpy as np

    from capeval.errors import MismatchError
    from capeval.report import Cell, Grid
    from capeval.studies.protocol import krippendorff_alpha

    kinds = np.array([kind for kind, _, _ in pairs])
    rows = []
    for kind in (*dict.fromkeys(kinds.tolist()), "all"):
        chosen = np.full(len(pairs), fill_value=True) if kind == "all" else kinds == kind
        asked = chosen[pair_of]
        try:
            # 0 is no answer.
            alpha = krippendorff_alpha(np.where(given[asked] == 0, np.nan, given[asked]))
        except MismatchError:
            # Of unanimous people, or one answer each, there is no alpha.
            alpha = None
        ties = int((won[chosen] == 0).sum()), int((decided[asked] == 0).sum())
        numbers = (int(chosen.sum()), ties[0], int(asked.sum()), ties[1], int((given[asked] != 0).sum()))
        rows.append((Cell(value=kind), *(Cell(value=number) for number in numbers), Cell(value=alpha)))
    columns = ("Class", "Pairs", "Tied pairs", "Triplets", "Tied triplets", "Answers", "Alpha")
    return Grid(columns=columns, rows=tuple(rows))


def _wins(pairs: Sequence[tuple[str, str, str]], won: NDArray[np.int64]) -> Grid:
    """How often each writer wins, loses and ties, by class and against whom."""
    from collections import Counter

    from capeval.report import Cell, Grid

    found: dict[tuple[str, str, str], Counter[int]] = {}
    for (kind, first, second), winner in zip(pairs, won.tolist(), strict=True):
        # Which of the two came first is chance.
        swap = first > second
        by = (kind, second, first) if swap else (kind, first, second)
        found.setdefault(by, Counter())[-winner if swap else winner] += 1
    rows = tuple(
        (*(Cell(value=name) for name in by), *(Cell(value=each[sign]) for sign in (1, -1, 0)))
        for by, each in found.items()
    )
    return Grid(columns=("Class", "A", "B", "A wins", "B wins", "Ties"), rows=rows)


def _winners(
    pairs: Sequence[tuple[str, str, str]], votes: Sequence[NDArray[np.int64]], won: NDArray[np.int64]
) -> Grid:
    from capeval.report import Cell, Grid

    rows = []
    for number, (pair, given, winner) in enumerate(zip(pairs, votes, won.tolist(), strict=True)):
        for_each = int((given == 1).sum()), int((given == -1).sum())
        name = {1: "first", -1: "second", 0: "tie"}[winner]
        rows.append(tuple(Cell(value=value) for value in (number, *pair, *for_each, name)))
    columns = ("Pair", "Class", "First by", "Second by", "For first", "For second", "Winner")
    return Grid(columns=columns, rows=tuple(rows))
