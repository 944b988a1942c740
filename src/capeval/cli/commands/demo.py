"""The `capeval demo` command."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Annotated

from capeval.cli.toolkit.click_commands import Option
from capeval.cli.toolkit.options import Seed
from capeval.cli.toolkit.output import Steps, deliver, examples, render

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples("capeval demo", "capeval demo --output reports --seed 7")


def run(
    output: Annotated[Path, Option("--output", "-o", metavar="FOLDER", help="Folder of the report.")] = Path(
        "capeval-demo"
    ),
    seed: Seed = 0,
) -> None:
    """Score human captions of COCO val2014 (40,504 images) and write an HTML report.

    For each image, the seed selects one caption, which is scored against the others.
    """
    from capeval.cli.toolkit.resource_setup import build_resources
    from capeval.data.held_out import hold_out
    from capeval.datasets import coco
    from capeval.datasets.published import COCO_HUMAN
    from capeval.metrics import DEFAULT
    from capeval.report import System, create_score_table, to_html
    from capeval.resources.spice import INSTALL_MODEL
    from capeval.scoring.evaluator import Evaluator

    _check_packages()
    # Tables are compiled on first use, which is not part of the reported times.
    build_resources(DEFAULT)
    with Steps(4) as steps:
        seconds = [time.perf_counter()]
        steps.next("Reading the captions of COCO val2014")
        references, candidates = hold_out(coco.load_captions("val2014"), seed=seed)
        seconds.append(time.perf_counter())
        steps.next("Tokenizing and preparing references")
        evaluator = Evaluator(references)
        seconds.append(time.perf_counter())
        steps.next("Tokenizing and scoring candidates")
        report = evaluator.evaluate(candidates)
        seconds.append(time.perf_counter())
        system = System(name="One human caption (val2014)", report=report)
        source = "COCO val2014, one caption per image held out"
        published = {"Published human scores (test, c5)": COCO_HUMAN.values}
        render(create_score_table([system], published, source=source), "table", None, "COCO Captions 2014")
        steps.next("Writing the report")
        path = output / "report.html"
        page = to_html(
            [system],
            title="Human captions of COCO val2014",
            published=published,
            references=references,
            candidates={system.name: candidates},
            source=source,
        )
        output.mkdir(parents=True, exist_ok=True)
        deliver(page, path)
    read, prepared, scored = (end - start for start, end in itertools.pairwise(seconds))
    deliver(
        f"\n{len(candidates):,} candidates and {int(references.counts.sum()):,} references of "
        f"{len(references):,} images in {read + prepared + scored:.2f} s: reading {read:.2f}, "
        f"references (tokens, frequencies) {prepared:.2f}, candidates (tokens, scores) {scored:.2f}.\n"
        f"The published human scores are for different images: {COCO_HUMAN.source}.\n"
        f"Report: {path}\n"
        f"For SPICE: {INSTALL_MODEL}, then capeval score --metrics SPICE. "
        "Its first run parses every caption.\n",
        None,
    )


def _check_packages() -> None:
    """Check that all packages of the demo are installed, and name one command for the missing ones."""
    from importlib.util import find_spec

    from capeval._internal.optional_packages import install_command, join_install_commands
    from capeval.errors import DependencyError

    missing = [name for name in ("pycocoevalcap", "jinja2", "matplotlib") if find_spec(name) is None]
    if missing:
        command = join_install_commands(install_command(name, "report") for name in missing)
        raise DependencyError(f"the demo needs {', '.join(missing)}: {command}")
