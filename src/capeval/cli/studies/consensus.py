"""`capeval study consensus`: how often metrics choose the caption that people chose."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from capeval.cli.commands import Argument, Option
from capeval.cli.console import Steps, examples
from capeval.cli.options import Seed
from capeval.cli.studies.output import CheckpointFile, Folder, numbers, show
from capeval.errors import OptionError

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval study consensus data/abstract50s",
    "capeval study consensus data/abstract50s --counts 1,5,10,20,48 --draws 3 --output study",
    "capeval study consensus data/pascal50s --ties half",
)


class Ties(StrEnum):
    """How a tie counts."""

    FIRST = "first"
    HALF = "half"


class Words(StrEnum):
    """The words that metrics get: as in the paper, or each metric's default."""

    PAPER = "paper"
    DEFAULT = "default"


def run(
    data: Annotated[
        Path,
        Argument(
            metavar="DATA", help="Folder of ABSTRACT-50S or PASCAL-50S as published.", show_default=False
        ),
    ],
    counts: Annotated[
        str | None,
        Option(help="Numbers of references for the curve, separated by commas.", show_default="no curve"),
    ] = None,
    draws: Annotated[int, Option(min=1, help="Random draws of references, or of halves.")] = 3,
    ties: Annotated[Ties, Option(help="A tie counts as a win of the first, or half.")] = Ties.FIRST,
    words: Annotated[
        Words, Option(help="Stems and punctuation as in the CIDEr paper, or each metric's default.")
    ] = Words.PAPER,
    seed: Seed = 0,
    checkpoint: CheckpointFile = None,
    output: Folder = None,
) -> None:
    """Compares metrics with human judgements of pairs of captions (CIDEr paper, sections 3 and 7).

    The folder has the files of ABSTRACT-50S (consensus_abstract.mat, abstract_candsB.json and
    abstract_candsC.json) or of PASCAL-50S (pair_pascal.mat and pascal_50s_5refs.json); JSON may be in gzip.
    A stopped run continues when it is started again with the same checkpoint.
    """
    from capeval.cli.needs import prepare_needs
    from capeval.formats import pascal50s
    from capeval.report.studies.consensus import report
    from capeval.studies.consensus import ConsensusOptions, study_abstract50s, study_pascal50s
    from capeval.studies.pair_scores import PAPER_CONTENDERS

    options = ConsensusOptions(
        words=words.value,
        ties=ties.value,
        counts=tuple(sorted(set(numbers("--counts", counts)))) if counts else (),
        draws=draws,
        seed=seed,
    )
    abstract50s = pascal50s.has_abstract50s(data)
    if not abstract50s and not pascal50s.has_pascal50s(data):
        raise OptionError(f"{data} must have consensus_abstract.mat or pair_pascal.mat (got neither)")
    prepare_needs([contender.metric for contender in PAPER_CONTENDERS])
    with Steps((1 + len(options.counts)) * draws) as steps:
        if abstract50s:
            pairs = pascal50s.load_abstract50s(data)
            study = study_abstract50s(pairs, options, checkpoint=checkpoint, progress=steps.next)
        else:
            preferences, judged = pascal50s.load_pascal50s(data)
            study = study_pascal50s(preferences, judged, options, checkpoint=checkpoint, progress=steps.next)
    show(report(study), output)
