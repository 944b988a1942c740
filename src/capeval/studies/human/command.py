"""`capeval study human`: human performance."""

from __future__ import annotations

from capeval.cli.toolkit.options import Metrics, SpiceLongest, metric_names
from capeval.cli.toolkit.output import Steps, examples
from capeval.cli.toolkit.study_output import CheckpointFile, CocoCaptions, Folder, write_study_report
from capeval.studies.human.options import HumanOptions

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 10
EXAMPLES = examples(
    "capeval study human",
    "capeval study human --references 1,2,3,4 --draws 10 --output human",
    "capeval study human captions.json --leave-one-out",
)


def run(
    captions: CocoCaptions = None,
    metrics: Metrics = None,
    spice_longest: SpiceLongest = None,
    *,
    options: HumanOptions,
    checkpoint: CheckpointFile = None,
    output: Folder = None,
) -> None:
    """Score one human caption per image against the others, in several random draws.

    For COCO val2014, the table also shows the human scores on the test set (Chen et al. 2015, Table 1).
    """
    from capeval.cli.toolkit.inputs import references_from
    from capeval.cli.toolkit.resource_setup import prepare_metrics
    from capeval.datasets import coco
    from capeval.datasets.published import COCO_HUMAN
    from capeval.studies.human import human_performance
    from capeval.studies.human.report import report

    names = metric_names(metrics)
    people = coco.load_captions("val2014") if captions is None else references_from(captions)
    ready = prepare_metrics(names, spice_longest)
    rounds = (
        int(people.counts.max()) if options.leave_one_out else options.draws * max(len(options.references), 1)
    )
    with Steps(rounds) as steps:
        results = human_performance(people, ready, options, progress=steps.next, checkpoint=checkpoint)
    write_study_report(report(results, COCO_HUMAN.values if captions is None else None), output)
