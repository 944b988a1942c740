"""`capeval study consensus`: accuracy of metrics on human preferences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.contenders import PaperMetrics
from capeval.cli.toolkit.output import Steps, deliver, examples
from capeval.cli.toolkit.study_output import CheckpointFile, CompleteOnly, Folder, write_study_report
from capeval.errors import OptionError
from capeval.studies.consensus.options import ConsensusOptions

if TYPE_CHECKING:
    from capeval.studies.consensus import ConsensusStudy
    from capeval.studies.shared.words import ComparedMetric

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 50
EXAMPLES = examples(
    "capeval study consensus data/abstract50s",
    "capeval study consensus data/abstract50s --counts 1,5,10,20,48 --draws 3 --output study",
    "capeval study consensus data/pascal50s --ties half",
    'capeval study consensus data/pascal50s --metrics "CIDEr-2015,CIDEr-2015(pooling=max)"',
    "capeval study consensus data/pascal50s --browse disagreements.html",
    "capeval study consensus plan --votes votes.csv --references captions.json",
    "capeval study consensus plan --pair-votes pair_votes.csv --references captions.json",
)


@dataclass(frozen=True, kw_only=True)
class AnswerFiles:
    """Files with answers to the user's plan; all None for published judgments."""

    votes: Annotated[Path | None, Option(help="CSV of answers to a plan's triplets.")] = None
    pair_votes: Annotated[Path | None, Option(help="CSV of votes on a plan's pairs, with the image.")] = None
    references: Annotated[
        Path | None,
        Option(
            help="Human captions as references for metrics; captions in the image's pairs are excluded.",
            show_default="those of the triplets",
        ),
    ] = None
    complete_only: CompleteOnly = False

    @property
    def are_given(self) -> bool:
        """Whether there are answers to the user's plan."""
        return self.votes is not None or self.pair_votes is not None

    def check(self, data: Path) -> None:
        """Validate the combination of files.

        Raises:
            OptionError: A file is missing, or conflicts with the others.
        """
        from capeval.datasets import pascal50s

        if not self.are_given and (self.references is not None or self.complete_only):
            raise OptionError("'--references' and '--complete-only' require '--votes' or '--pair-votes'")
        if self.votes is None and self.pair_votes is not None and self.references is None:
            raise OptionError("'--pair-votes' requires '--references' or '--votes'")
        if not self.are_given and not (pascal50s.has_abstract50s(data) or pascal50s.has_pascal50s(data)):
            raise OptionError(
                f"{data} must contain consensus_abstract.mat or pair_pascal.mat (got neither);"
                " for a folder from 'study plan', add '--votes' or '--pair-votes'"
            )


def run(
    data: Annotated[
        Path,
        Argument(help="Published folder of ABSTRACT-50S or PASCAL-50S, or a folder from 'study plan'."),
    ],
    answers: AnswerFiles,
    options: ConsensusOptions,
    metrics: PaperMetrics = None,
    checkpoint: CheckpointFile = None,
    browse: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write a page to browse pairs on which metrics disagree with people."),
    ] = None,
    output: Folder = None,
) -> None:
    """Compare metrics with human judgments of pairs (CIDEr paper, sections 3, 7).

    The folder contains the files of ABSTRACT-50S (consensus_abstract.mat, abstract_candsB.json and
    abstract_candsC.json) or of PASCAL-50S (pair_pascal.mat and pascal_50s_5refs.json); JSON files may be
    gzipped. If pascal50S.mat is also there, the references are the paper's 48 sentences instead of five. With
    --votes or --pair-votes, the folder contains pairs.csv and triplets.csv of your plan.

    To resume an interrupted run, start it again with the same --checkpoint.
    """
    from capeval.cli.toolkit.contenders import select_contenders
    from capeval.studies.consensus.pair_tables import render_pairs
    from capeval.studies.consensus.report import report

    options = replace(options, counts=tuple(sorted(set(options.counts))))
    answers.check(data)
    contenders = select_contenders(metrics)
    with Steps((1 + len(options.counts)) * options.draws) as steps:
        make = partial(_study_own, answers) if answers.are_given else _study_published
        study = make(data, options, contenders, checkpoint, steps)
    write_study_report(report(study), output)
    if browse is not None:
        title = f"Disagreements of metrics and people: {study.dataset or data.name}"
        deliver(render_pairs(study.judged, title=title), browse)


def _study_published(
    data: Path,
    options: ConsensusOptions,
    contenders: Sequence[ComparedMetric],
    checkpoint: Path | None,
    steps: Steps,
) -> ConsensusStudy:
    """Run the study on published judgments."""
    from capeval.datasets import pascal50s
    from capeval.studies.consensus import study_abstract50s, study_pascal50s

    if pascal50s.has_abstract50s(data):
        pairs = pascal50s.load_abstract50s(data)
        return study_abstract50s(
            pairs, options, contenders=contenders, checkpoint=checkpoint, progress=steps.next
        )
    preferences, judged = pascal50s.load_pascal50s(data)
    return study_pascal50s(
        preferences, judged, options, contenders=contenders, checkpoint=checkpoint, progress=steps.next
    )


def _study_own(
    answers: AnswerFiles,
    data: Path,
    options: ConsensusOptions,
    contenders: Sequence[ComparedMetric],
    checkpoint: Path | None,
    steps: Steps,
) -> ConsensusStudy:
    """Run the study on answers to the user's plan."""
    from capeval.cli.toolkit.inputs import references_from
    from capeval.studies.consensus import study_plan
    from capeval.studies.shared.vote_files import read_pair_votes, read_votes

    complete_only = answers.complete_only
    triplet_votes = pair_votes = None
    if answers.votes is not None:
        triplet_votes = read_votes(data, answers.votes, complete_only=complete_only)
    if answers.pair_votes is not None:
        pair_votes = read_pair_votes(data, answers.pair_votes, complete_only=complete_only)
    return study_plan(
        triplet_votes,
        pair_votes,
        options,
        references=None if answers.references is None else references_from(answers.references),
        contenders=contenders,
        checkpoint=checkpoint,
        progress=steps.next,
    )
