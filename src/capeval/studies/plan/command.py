"""`capeval study plan`: questions for annotators of captions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.output import examples, name_systems
from capeval.cli.toolkit.study_output import write_study_report
from capeval.studies.plan.options import PlanOptions

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 30
EXAMPLES = examples(
    "capeval study plan captions.json --pairs HC=200,HI=200 --output plan",
    "capeval study plan captions.json a.json b.json --pairs HM=100,MM=100 --per-pair 20 --seed 7 -o plan",
)


def run(
    captions: Annotated[Path, Argument(help="File of human captions.")],
    results: Annotated[
        list[Path] | None, Argument(help="Files of results, one per system, each as FILE or NAME=FILE.")
    ] = None,
    pairs: Annotated[
        str, Option(metavar="CLASS=N,...", help="Number of pairs of HC, HI, HM and MM.")
    ] = "HC=100,HI=100",
    *,
    options: PlanOptions,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FOLDER", help="Folder for plan.csv, pairs.csv and triplets.csv."),
    ] = None,
) -> None:
    """Plan triplets: which of two captions is more similar to a reference?

    This is the protocol of the CIDEr paper (section 3). HC pairs contain two human captions of the image, HI
    pairs also a human caption of another image, HM pairs a human and a system's caption, and MM pairs
    captions of two systems. Triplets are in random order, with balanced sides for each pair.
    """
    from capeval.cli.toolkit.inputs import candidates_from, references_from
    from capeval.formats.judgments.plans import write_plan
    from capeval.scoring.matching import match_captions
    from capeval.studies.plan import plan_study
    from capeval.studies.plan.report import report

    counts = _parse_counts(pairs)
    references = references_from(captions)
    machines = {}
    for name, path in name_systems(results or []).items():
        # Pairs need captions of some images only.
        _, candidates, _ = match_captions(references, candidates_from(path), missing="skip", extra="skip")
        machines[name] = {image: candidates[image][0] for image in candidates}
    plan = plan_study(references, machines, counts, options)
    write_study_report(report(plan, counts), output, write=lambda folder: write_plan(plan, folder))


def _parse_counts(text: str) -> dict[str, int]:
    """Parse the number of pairs of each class in `--pairs`."""
    from capeval.errors import OptionError

    counts: dict[str, int] = {}
    for part in text.split(","):
        kind, _, number = part.strip().partition("=")
        if not number.isdecimal() or kind in counts:
            raise OptionError(
                f"'--pairs' must be CLASS=N, with each class once, such as HC=200,MM=100 (got {text!r})"
            )
        counts[kind] = int(number)
    return counts
