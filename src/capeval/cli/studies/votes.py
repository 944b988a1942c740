"""`capeval study votes`: finds the winners of a plan's pairs from people's answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval.cli.commands import Argument
from capeval.cli.console import examples
from capeval.cli.studies.output import Folder, show

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples("capeval study votes plan votes.csv", "capeval study votes plan votes.csv -o winners")


def run(
    plan: Annotated[
        Path, Argument(metavar="PLAN", help="Folder that 'study plan' wrote.", show_default=False)
    ],
    votes: Annotated[
        Path,
        Argument(metavar="VOTES", help="CSV: triplet, choice (left or right).", show_default=False),
    ],
    output: Folder = None,
) -> None:
    """Counts the answers to planned triplets: a majority for each triplet, a winner for each pair.

    A tied triplet gives no vote, and a tied pair is shown as a tie. Krippendorff's alpha measures how far
    people agree on triplets.
    """
    from capeval.formats.judgements import load_plan, load_votes, plan_files
    from capeval.report.studies.votes import report
    from capeval.studies.votes import count_votes

    planned = load_plan(*plan_files(plan))
    show(report(count_votes(planned, load_votes(votes, planned))), output)
