"""`capeval score`: the scores of one or several systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from capeval.cli.console import Steps, deliver, examples, render, system_names
from capeval.cli.options import (
    Format,
    FormatOption,
    Level,
    Metrics,
    Output,
    ReferencesFile,
    Samples,
    Seed,
    metric_names,
)
from capeval.errors import MismatchError
from capeval.evaluation import Evaluator, Report
from capeval.formats import load_candidates, load_references, load_subsets
from capeval.report import System, per_image, scores, to_html, to_json
from capeval.tokenization import Tokenizer, first_few
from capeval.types import Candidates, ImageId, References

__all__ = ["EXAMPLES", "NAME", "prepared", "run", "scored"]

NAME = "score"
EXAMPLES = examples(
    "capeval score references.json results.json",
    "capeval score references.json a.json b.json.gz --metrics BLEU,CIDEr-D --bootstrap",
    "capeval score references.json results.json --format json --per-image -o scores.json",
    "capeval score references.json a.json b.json --subset domains.json --report report.html",
)


def run(
    references: ReferencesFile,
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS...", help="Files of results, one a system.", show_default=False),
    ],
    metrics: Metrics = None,
    subset: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON of subsets: names to image ids.", show_default=False),
    ] = None,
    bootstrap: Annotated[
        bool, typer.Option("--bootstrap", help="Add bootstrap intervals of the corpus scores.")
    ] = False,
    samples: Samples = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
    each: Annotated[bool, typer.Option("--per-image", help="Give the scores of each image.")] = False,
    form: FormatOption = Format.TABLE,
    output: Output = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a report with plots as HTML too.", show_default=False),
    ] = None,
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="Captions are tokens already, joined by single spaces.")
    ] = False,
) -> None:
    """Scores results against references, for one system or several."""
    tokenizer = Tokenizer(kind="none") if tokenized else Tokenizer()
    names = system_names(results)
    total = 1 + len(results) * (2 if bootstrap else 1) + (report is not None)
    with Steps(total) as steps:
        steps.next("Reading and preparing references")
        given, evaluator, candidates = prepared(references, results, metric_names(metrics), tokenizer)
        subsets = _subsets(subset, given) if subset is not None else None
        systems = []
        for name, path, captions in zip(names, results, candidates, strict=True):
            steps.next(f"Scoring {name}")
            system = System(name=name, report=scored(evaluator, path, captions, subsets))
            if bootstrap:
                steps.next(f"Resampling {name}")
                system = _with_intervals(system, samples=samples, level=level, seed=seed)
            systems.append(system)
        if report is not None:
            steps.next("Writing the report")
            _write_report(report, systems, given, candidates)
    if form is Format.JSON:
        deliver(to_json(systems, per_image=each), output)
    else:
        grid = per_image(systems) if each else scores(systems)
        render(grid, form, output)


def prepared(
    references: Path, results: list[Path], metrics: tuple[str, ...], tokenizer: Tokenizer
) -> tuple[References, Evaluator, list[Candidates]]:
    """The references, prepared, and the candidates of each file."""
    given = load_references(references)
    # Before the references are prepared, so that a wrong file is told at once. Reading the files in
    # a thread meanwhile was measured: it is no faster, since both processors have enough to do.
    candidates = [load_candidates(path) for path in results]
    return given, Evaluator(given, metrics, tokenizer=tokenizer), candidates


def _subsets(path: Path, references: References) -> dict[str, list[ImageId]]:
    subsets = load_subsets(path)
    for name, images in subsets.items():
        unknown = [image for image in images if image not in references]
        if unknown:
            raise MismatchError(f"{path}: subset {name!r}: {first_few(unknown)} not among the references")
    return subsets


def scored(
    evaluator: Evaluator,
    path: Path,
    candidates: Candidates,
    subsets: dict[str, list[ImageId]] | None = None,
) -> Report:
    """The scores of the candidates in a file; an error names it."""
    try:
        return evaluator.evaluate(candidates, subsets=subsets)
    except MismatchError as error:
        raise MismatchError(f"{path}: {error}") from None


def _with_intervals(system: System, *, samples: int, level: float, seed: int) -> System:
    from capeval.significance import bootstrap

    intervals = bootstrap(system.report, samples=samples, level=level, seed=seed)
    return System(name=system.name, report=system.report, intervals=intervals)


def _write_report(
    path: Path, systems: list[System], references: References, candidates: list[Candidates]
) -> None:
    captions = {system.name: texts for system, texts in zip(systems, candidates, strict=True)}
    deliver(to_html(systems, references=references, candidates=captions), path)
