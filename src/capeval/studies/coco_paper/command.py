"""`capeval study coco-paper`: the tables and figures of the COCO Captions paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval._internal.options import Option
from capeval.cli.toolkit.output import Steps, examples
from capeval.cli.toolkit.study_output import CocoCaptions, Folder, write_paper_report

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 200
EXAMPLES = examples(
    "capeval study coco-paper --output coco-paper",
    "capeval study coco-paper captions_test.json --many captions_test_many.json --human human_test.json",
)


def run(
    captions: CocoCaptions = None,
    *,
    human: Annotated[
        Path | None,
        Option(
            help="Another human caption of each image, which is scored.",
            show_default="each caption against the others",
        ),
    ] = None,
    many: Annotated[
        Path | None, Option(help="File with more references of some images (c40), with '--human'.")
    ] = None,
    output: Folder = None,
) -> None:
    """Compare the tables and figures of the COCO Captions paper with computed results.

    Every published number is met or not met, and every difference has a reason. With '--output', the command
    writes a page (report.md), all numbers and the figures.
    """
    from capeval.cli.toolkit.inputs import candidates_from, references_from
    from capeval.cli.toolkit.resource_setup import prepare_metrics
    from capeval.errors import OptionError
    from capeval.studies.coco_paper import METRICS, STEPS, study_coco_paper
    from capeval.studies.coco_paper.report import report

    if many is not None and human is None:
        raise OptionError("'--many' requires '--human'")
    prepare_metrics(METRICS)
    with Steps(STEPS) as steps:
        study = study_coco_paper(
            None if captions is None else references_from(captions),
            human=None if human is None else candidates_from(human),
            many=None if many is None else references_from(many),
            progress=steps.next,
        )
    write_paper_report(report(study), output)
