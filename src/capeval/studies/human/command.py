"""`capeval study human`: scores captions by people against captions by people."""

from __future__ import annotations

from typing import Annotated

from capeval._internal.options import Option
from capeval.cli.toolkit.options import Metrics, Seed, SpiceLongest, metric_names
from capeval.cli.toolkit.output import Steps, examples
from capeval.cli.toolkit.study_output import CheckpointFile, CocoCaptions, Folder, show

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
    references: Annotated[
        tuple[int, ...],
        Option("--references", "-k", help="Numbers of references.", show_default="all captions but one"),
    ] = (),
    draws: Annotated[int, Option(min=1, help="How many times to draw the captions held out.")] = 5,
    seed: Seed = 0,
    leave_one_out: Annotated[bool, Option(help="Hold out every caption once; nothing is drawn.")] = False,
    checkpoint: CheckpointFile = None,
    output: Folder = None,
) -> None:
    """Scores one human caption of each image against others of the image, several times.

    For COCO val2014 the table also has the scores of people on the test set (Chen et al. 2015, Table 1).
    """
    from capeval.cli.toolkit.inputs import references_from
    from capeval.cli.toolkit.resource_setup import ready_metrics
    from capeval.datasets import coco
    from capeval.datasets.published import COCO_HUMAN
    from capeval.errors import OptionError
    from capeval.studies import human
    from capeval.studies.human.report import report

    if leave_one_out and references:
        raise OptionError("'--leave-one-out' must come without '--references' (got both)")
    names = metric_names(metrics)
    counts = references or (None,)
    all_captions = coco.captions("val2014") if captions is None else references_from(captions)
    ready = ready_metrics(names, spice_longest)
    rounds = int(all_captions.counts.max()) if leave_one_out else draws * len(counts)
    with Steps(rounds) as steps:
        if leave_one_out:
            result = human.leave_one_out(all_captions, ready, progress=steps.next, checkpoint=checkpoint)
            results: tuple[human.HumanPerformance, ...] = (result,)
        else:
            results = human.human_performance(
                all_captions,
                ready,
                references=counts,
                draws=draws,
                seed=seed,
                progress=steps.next,
                checkpoint=checkpoint,
            )
    show(report(results, COCO_HUMAN.values if captions is None else None), output)
