"""`capeval study votes`: winners of a plan's pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.output import examples
from capeval.cli.toolkit.study_output import CompleteOnly, Folder, write_columns, write_study_report
from capeval.errors import MismatchError, OptionError

if TYPE_CHECKING:
    from capeval.studies.judging import HumanColumn
    from capeval.studies.votes import PlanVotes

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 40
EXAMPLES = examples(
    "capeval study votes plan votes.csv",
    "capeval study votes plan votes.csv --complete-only -o winners",
    "capeval study votes plan pair_votes.csv --pairwise --judgments 11",
)


def run(
    plan: Annotated[Path, Argument(help="Folder from 'study plan'.")],
    votes: Annotated[
        Path,
        Argument(
            help="CSV: triplet, choice (left, right); with --pairwise: pair, choice (first, second, equal);"
            " or a release's judgments.csv."
        ),
    ],
    pairwise: Annotated[bool, Option(help="Read votes on pairs, by people who saw the image.")] = False,
    judgments: Annotated[
        int | None,
        Option(
            min=1,
            help="With --pairwise, number of people to ask per pair; a decided pair needs no more.",
            show_default="1",
        ),
    ] = None,
    complete_only: CompleteOnly = False,
    output: Folder = None,
) -> None:
    """Count the answers to a plan: a majority per triplet, and a winner per pair.

    A tied triplet gives no vote, and a tied pair is shown as a tie. Krippendorff's alpha measures the
    agreement between people.

    Questions with fewer answers than planned, if more answers could change the winner, are listed. Questions
    without answers are an error. --complete-only excludes both.

    If pairs compare several systems, each system gets its fraction of wins and its strength (Bradley and
    Terry), with confidence intervals over images.
    """
    from capeval.formats.judgments.plans import get_plan_paths
    from capeval.studies.shared.vote_files import read_pair_votes, read_votes
    from capeval.studies.votes.report import report

    if plan.is_file():
        raise OptionError(f"'PLAN' must be a folder with pairs.csv (got a file: {str(plan)!r})")
    pairs, triplets = get_plan_paths(plan)
    if pairs.exists() and not triplets.exists() and not pairwise:
        raise OptionError(f"{str(plan)!r} has no triplets.csv; for votes on pairs, add '--pairwise'")
    if pairwise:
        counted = read_pair_votes(plan, votes, judgments=judgments, complete_only=complete_only)
    elif judgments is not None:
        raise OptionError("'--judgments' requires '--pairwise'; for triplets, the number is in triplets.csv")
    else:
        counted = read_votes(plan, votes, complete_only=complete_only)
    columns, lacking = _judge_wins(counted)
    write_study_report(
        report(counted, columns, lacking),
        output,
        write=lambda folder: write_columns(columns, folder) if columns else (),
    )


def _judge_wins(counted: PlanVotes) -> tuple[tuple[HumanColumn, ...], str]:
    """Return the wins of systems; or nothing, and the reason."""
    from capeval.studies.judging.wins import judge_wins

    try:
        return judge_wins(counted), ""
    except MismatchError as error:
        return (), str(error)
