"""`capeval study votes`: the winners of a plan's pairs, from what people answered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from capeval.cli.console import examples
from capeval.cli.studies.output import Folder, show

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

    A tied triplet is no vote, and a tied pair is shown as a tie. Alpha (Krippendorff's) says how far people
    agree on triplets.
    """
    from capeval.formats.judgements import load_plan, load_votes, plan_files
    from capeval.report.studies.votes import report
    from capeval.studies.votes import count_votes

    planned = load_plan(*plan_files(plan))
    show(report(count_votes(planned, load_votes(votes, planned))), output)
