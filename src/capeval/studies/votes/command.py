"""`capeval study votes`: finds the winners of a plan's pairs from people's answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.output import examples
from capeval.cli.toolkit.study_output import CompleteOnly, Folder, show, write_columns

if TYPE_CHECKING:
    from capeval.studies.judging import HumanColumn

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 40
EXAMPLES = examples(
    "capeval study votes plan votes.csv",
    "capeval study votes plan votes.csv --complete-only -o winners",
    "capeval study votes plan pair_votes.csv --pairwise --judgements 11",
)


def run(
    plan: Annotated[Path, Argument(help="Folder that 'study plan' wrote.")],
    votes: Annotated[
        Path,
        Argument(
            help="CSV: triplet, choice (left, right); with --pairwise: pair, choice (first, second, equal)."
        ),
    ],
    pairwise: Annotated[bool, Option(help="The votes are on pairs, by people who saw the image.")] = False,
    judgements: Annotated[
        int | None,
        Option(
            min=1,
            help="With --pairwise, people asked for each pair; a decided pair needs no more.",
            show_default="1",
        ),
    ] = None,
    complete_only: CompleteOnly = False,
    output: Folder = None,
) -> None:
    """Counts the answers to a plan: a majority for each triplet, a winner for each pair.

    A tied triplet gives no vote, and a tied pair is shown as a tie. Krippendorff's alpha measures how far
    people agree. What has fewer answers than planned, where more could change the winner, is listed, and an
    error where it has none, unless --complete-only leaves it out. Where pairs are of several systems, each
    has the fraction of its wins and its strength (Bradley and Terry), with intervals from resampled images.
    """
    from capeval.errors import MismatchError, OptionError
    from capeval.formats.judgments.plans import load_pair_votes, load_pairs, load_plan, load_votes, plan_files
    from capeval.studies.judging.wins import judge_wins
    from capeval.studies.votes import count_pair_votes, count_votes
    from capeval.studies.votes.report import report

    pairs_file, triplets_file = plan_files(plan)
    if not pairwise:
        if judgements is not None:
            raise OptionError("'--judgements' must go with '--pairwise': triplets.csv says it of triplets")
        planned = load_plan(pairs_file, triplets_file)
        counted = count_votes(planned, load_votes(votes, planned), complete_only=complete_only)
    else:
        pairs = load_pairs(pairs_file)
        counted = count_pair_votes(
            pairs,
            load_pair_votes(votes, pairs),
            judgements=judgements or 1,
            complete_only=complete_only,
        )
    columns: tuple[HumanColumn, ...] = ()
    lacking = ""
    try:
        columns = judge_wins(counted)
    except MismatchError as error:
        lacking = str(error)

    show(
        report(counted, columns, lacking),
        output,
        write=lambda folder: write_columns(columns, folder) if columns else (),
    )
