"""Shared by the commands that score. Imported only when one of them runs, so that `--help` stays fast."""

from __future__ import annotations

from pathlib import Path

from capeval.cli.console import Steps, deliver
from capeval.cli.needs import ready_metrics
from capeval.errors import MismatchError
from capeval.evaluation import Evaluator, problems
from capeval.formats import load_candidates, load_references, load_subsets
from capeval.messages import first_few
from capeval.report import System, to_html
from capeval.tokenization import Tokenizer
from capeval.types import Candidates, ImageId, References

__all__ = ["evaluator_of", "loaded", "prepared", "subsets_of", "with_intervals", "write_report"]


def prepared(
    references: Path, results: list[Path], metrics: tuple[str, ...], tokenizer: Tokenizer
) -> tuple[Evaluator, list[Candidates]]:
    """The prepared references, and the candidates of each file."""
    captions, candidates = loaded(references, results)
    return evaluator_of(captions, metrics, tokenizer), candidates


def loaded(references: Path, results: list[Path]) -> tuple[References, list[Candidates]]:
    """The references, and the candidates of each file, for the same images.

    Raises:
        MismatchError: The images of a file differ from those of the references; the error names the file.
    """
    # All files are read before references are prepared or tables compiled, so that an error in one comes
    # at once. Reading in a second thread was measured: no faster, since both processors are busy.
    with Steps(1) as steps:
        steps.next("Reading captions")
        captions = load_references(references)
        candidates = [load_candidates(path) for path in results]
    for path, system in zip(results, candidates, strict=True):
        for problem in problems(captions, system):
            raise MismatchError(f"{path}: {problem}")
    return captions, candidates


def evaluator_of(references: References, metrics: tuple[str, ...], tokenizer: Tokenizer) -> Evaluator:
    """The references prepared for metrics.

    Raises:
        ResourceError: A resource that a metric needs is missing or damaged.
    """
    ready = ready_metrics(metrics)
    with Steps(1) as steps:
        steps.next("Preparing references")
        return Evaluator(references, ready, tokenizer=tokenizer)


def subsets_of(path: Path, references: References) -> dict[str, list[ImageId]]:
    """The subsets in a file; every image of theirs must have references."""
    subsets = load_subsets(path)
    for name, images in subsets.items():
        unknown = [image for image in images if image not in references]
        if unknown:
            raise MismatchError(f"{path}: subset {name!r:.80}: {first_few(unknown)} not among the references")
    return subsets


def with_intervals(system: System, *, samples: int, level: float, seed: int) -> System:
    """The system with bootstrap intervals of its scores."""
    from capeval.significance import bootstrap

    intervals = bootstrap(system.report, samples=samples, level=level, seed=seed)
    return System(name=system.name, report=system.report, intervals=intervals)


def write_report(
    path: Path,
    systems: list[System],
    references: References,
    candidates: list[Candidates],
    tokenizer: Tokenizer,
) -> None:
    """Writes the HTML report of the systems."""
    captions = {system.name: texts for system, texts in zip(systems, candidates, strict=True)}
    page = to_html(systems, references=references, candidates=captions, tokenizer=tokenizer)
    deliver(page, path)
