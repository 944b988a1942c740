"""`capeval score` of folders of shards."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from capeval.cli.console import Steps, deliver, render
from capeval.cli.needs import ready_metrics
from capeval.cli.options import Format
from capeval.cli.scoring import Counts
from capeval.columns import Columns, Role
from capeval.distributed.shards import Failure, Job, ShardScores, Timing, score_shards, shards_in
from capeval.distributed.sums import Sums
from capeval.errors import OptionError
from capeval.evaluation import Report
from capeval.report import System, scores, to_json
from capeval.tokenization import Tokenizer
from capeval.types import Scores

__all__ = ["Folders", "are_folders", "columns_of", "score_folders"]


@dataclass(frozen=True, kw_only=True)
class Folders:
    """Folders of shards, and how they are read.

    Attributes:
        references: The folder of references.
        results: The folders of results, one a system; that of the references too.
        columns: The columns of references and of results.
        split: The splits of the references, separated by commas.
        processes: The number of processes; one for each processor by default.
        skip: Whether to go on without shards that can't be scored.
    """

    references: Path
    results: Sequence[Path]
    columns: tuple[Columns, Columns]
    split: str | None = None
    processes: int | None = None
    skip: bool = False


def are_folders(references: Path, results: Sequence[Path]) -> bool:
    """Whether folders were given, and not files.

    Raises:
        OptionError: Some are folders and some are files.
    """
    given = [path.is_dir() for path in (references, *results)]
    if any(given) and not all(given):
        folder = next(path for path in (references, *results) if path.is_dir())
        raise OptionError(
            f"references and results must all be files, or all be folders (got the folder {folder})"
        )
    return all(given)


def columns_of(
    id_column: str | None,
    caption_column: str | None,
    reference_id_column: str | None,
    reference_caption_column: str | None,
) -> tuple[Columns, Columns]:
    """The columns of references and of results."""
    references = Columns(
        role=Role.REFERENCES,
        id_column=reference_id_column,
        caption_column=reference_caption_column,
        other_id_column=id_column,
        other_caption_column=caption_column,
    )
    return references, Columns(role=Role.CANDIDATES, id_column=id_column, caption_column=caption_column)


def score_folders(
    folders: Folders,
    names: Sequence[str],
    metrics: tuple[str, ...],
    tokenizer: Tokenizer,
    counts: Counts | None,
    form: Format,
    output: Path | None,
) -> None:
    """Scores the results in folders, and says which shards could not be scored."""
    ready = ready_metrics(metrics)
    if counts is not None:
        ready = counts.weigh(ready, tokenizer)
    references, results = folders.columns
    split = () if folders.split is None else tuple(part.strip() for part in folders.split.split(","))
    job = Job(metrics=ready, tokenizer=tokenizer, references=references, candidates=results, split=split)
    systems: list[System] = []
    failures: list[Failure] = []
    for name, folder in zip(names, folders.results, strict=True):
        scored = _scored(name, folder, folders, job)
        systems.append(System(name=name, report=_report(scored.sums)))
        failures += scored.failures
    for failure in failures:
        print(f"capeval: warning: left out: {failure.message}", file=sys.stderr)
    if form is Format.JSON:
        deliver(to_json(systems), output)
    else:
        grid = scores(systems, source=folders.references.name)
        render(replace(grid, notes=(*grid.notes, *_left_out(failures))), form, output)


def _scored(name: str, folder: Path, folders: Folders, job: Job) -> ShardScores:
    shards = shards_in(folders.references, folder)
    with Steps(2 * len(shards)) as steps:
        steps.next(f"Reading {name}")

        def told(step: str, timing: Timing) -> None:
            steps.next(f"{name}: {step} {timing.shard.candidates.name}")

        return score_shards(shards, job, processes=folders.processes, skip=folders.skip, done=told)


def _report(sums: Sums) -> Report:
    """The corpus scores alone: nobody has the rows of all images."""
    parts = [
        Scores(
            names=metric.names,
            image_ids=(),
            corpus={name: sums.corpus[name] for name in metric.names},
            per_image={},
            statistics=statistics[None, :][:0],
            signature=signature,
        )
        for metric, statistics, signature in zip(
            sums.metrics, sums.statistics, sums.signatures.values(), strict=True
        )
    ]
    return Report(
        image_ids=(),
        corpus=sums.corpus,
        per_image={},
        subsets={},
        signatures=sums.signatures,
        scores=tuple(zip(sums.metrics, parts, strict=True)),
    )


def _left_out(failures: Sequence[Failure]) -> list[str]:
    if not failures:
        return []
    count = "1 shard is" if len(failures) == 1 else f"{len(failures):,} shards are"
    return [f"{count} left out; the messages on standard error say why."]
