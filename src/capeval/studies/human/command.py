"""`capeval study human`: human performance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Option
from capeval.cli.toolkit.options import Metrics, SpiceLongest, metric_names
from capeval.cli.toolkit.output import Steps, examples, name_systems
from capeval.cli.toolkit.study_output import CheckpointFile, CocoCaptions, Folder, write_study_report
from capeval.studies.human.options import HumanOptions

if TYPE_CHECKING:
    from capeval.data.captions import References
    from capeval.metrics.base import Metric
    from capeval.report.study_report import StudyReport

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 10
EXAMPLES = examples(
    "capeval study human",
    "capeval study human --references 1,2,3,4 --draws 10 --output human",
    "capeval study human captions.json --leave-one-out",
    "capeval study human captions_test.json --many captions_test_many.json --results Human=human_test.json",
)


def run(
    captions: CocoCaptions = None,
    metrics: Metrics = None,
    spice_longest: SpiceLongest = None,
    *,
    options: HumanOptions,
    results: Annotated[
        list[Path] | None,
        Option(
            metavar="NAME=FILE",
            help="Score these captions instead of held-out ones, such as Human=human.json; repeatable.",
        ),
    ] = None,
    many: Annotated[
        Path | None, Option(help="File with more references of some images (c40), with '--results'.")
    ] = None,
    checkpoint: CheckpointFile = None,
    output: Folder = None,
) -> None:
    """Score one human caption per image against the others, in several random draws.

    For COCO val2014, the table also shows the human scores on the test set (Chen et al. 2015, Table 1). With
    '--results', the table has given captions, such as a held-out human caption per image and the results of
    systems, with each set of references.
    """
    from capeval.cli.toolkit.inputs import references_from
    from capeval.cli.toolkit.resource_setup import prepare_metrics
    from capeval.datasets import coco
    from capeval.datasets.published import COCO_HUMAN
    from capeval.errors import OptionError
    from capeval.studies.human import human_performance
    from capeval.studies.human.report import report

    if many is not None and not results:
        raise OptionError("'--many' requires '--results'")
    if results and (options != HumanOptions() or checkpoint is not None):
        raise OptionError("'--results' can't be combined with the options of draws and '--checkpoint'")
    names = metric_names(metrics)
    people = coco.load_captions("val2014") if captions is None else references_from(captions)
    ready = prepare_metrics(names, spice_longest)
    if results:
        sets = [people, *([references_from(many)] if many is not None else [])]
        write_study_report(_score_results(sets, results, ready), output)
        return
    rounds = (
        int(people.counts.max()) if options.leave_one_out else options.draws * max(len(options.references), 1)
    )
    with Steps(rounds) as steps:
        found = human_performance(people, ready, options, progress=steps.next, checkpoint=checkpoint)
    write_study_report(report(found, COCO_HUMAN.values if captions is None else None), output)


def _score_results(
    sets: Sequence[References], results: Sequence[Path], metrics: Sequence[str | Metric]
) -> StudyReport:
    """Return the table of given captions with each set of references."""
    from capeval.cli.toolkit.inputs import candidates_from
    from capeval.studies.human.reference_sets import score_reference_sets
    from capeval.studies.human.sets_report import report_sets

    systems = {name: candidates_from(path) for name, path in name_systems(results).items()}
    with Steps(len(sets)) as steps:
        scores = score_reference_sets(sets, systems, metrics, progress=steps.next)
    return report_sets(sets, scores)
