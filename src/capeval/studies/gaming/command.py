"""`capeval study gaming`: attacks on metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval._internal.options import Option
from capeval.cli.toolkit.options import InputOptions
from capeval.cli.toolkit.output import Steps, examples
from capeval.cli.toolkit.study_output import Folder, write_study_report
from capeval.studies.gaming.options import GamingOptions

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 70
EXAMPLES = examples(
    "capeval study gaming", "capeval study gaming --references references.json --results results.json"
)


def run(
    references: Annotated[
        Path | None, Option(help="File of references.", show_default="COCO val2014")
    ] = None,
    results: Annotated[
        Path | None, Option(help="File of honest captions.", show_default="one reference of each image")
    ] = None,
    *,
    reading: InputOptions,
    options: GamingOptions,
    output: Folder = None,
) -> None:
    """Score captions made for metrics, not for people (CIDEr paper, section 8).

    The tables show the corpus scores of honest captions and of each attack, and the share of images for which
    an attack scores higher than the honest caption.
    """
    from capeval.cli.toolkit.inputs import CaptionReader
    from capeval.cli.toolkit.resource_setup import build_resources
    from capeval.datasets import coco
    from capeval.scoring.matching import match_captions
    from capeval.studies.gaming import GAMED_METRICS, study_gaming
    from capeval.studies.gaming.report import report

    build_resources([contender.metric for contender in GAMED_METRICS])
    with Steps(2) as steps:
        steps.next("Reading captions")
        reader = CaptionReader(reading)
        captions = coco.load_captions() if references is None else reader.references(references)
        honest = None
        if results is not None:
            honest = reader.candidates(results, captions)
            captions, honest, _ = match_captions(
                captions, honest, missing=reading.missing, extra=reading.extra
            )
        steps.next("Gaming metrics")
        results_by_attack = study_gaming(captions, honest, options)
    write_study_report(report(results_by_attack), output)
