"""Implementation of `capeval score` for folders of shards."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from capeval.cli.toolkit.inputs import CaptionReader
from capeval.cli.toolkit.options import EvaluationOptions, OutputFormat
from capeval.cli.toolkit.output import Steps, deliver, render
from capeval.cli.toolkit.scoring import find_omitted, metrics_of
from capeval.data.scores import Scores
from capeval.distributed.shards import (
    ShardFailure,
    ShardScores,
    ShardScoringOptions,
    ShardTiming,
    list_shards,
    score_shards,
)
from capeval.metrics import Metric
from capeval.report import System, create_score_table, to_json
from capeval.scoring.report import Report, create_report
from capeval.tokenizers import Tokenizer

__all__ = ["ShardFolders", "score_folders"]


@dataclass(frozen=True, kw_only=True)
class ShardFolders:
    """Folders of shards.

    Attributes:
        references: The folder of references.
        results: The folders of results, one per system; may include the folder of references.
        processes: The number of processes; by default one per processor.
        skip: Whether to continue without shards that can't be scored.
    """

    references: Path
    results: Sequence[Path]
    processes: int | None = None
    skip: bool = False


def score_folders(
    folders: ShardFolders,
    names: Sequence[str],
    options: EvaluationOptions,
    tokenizer: Tokenizer,
    form: OutputFormat,
    output: Path | None,
) -> None:
    """Score the results in folders, and report shards that could not be scored."""
    reading = CaptionReader(options.reading)
    reading.check(folders.references, folders.results)
    ready = metrics_of(options, tokenizer)
    job = ShardScoringOptions(
        metrics=ready,
        tokenizer=tokenizer,
        references=reading.reference_columns,
        candidates=reading.columns,
        split=options.reading.splits,
    )
    omitted = find_omitted(options)
    systems: list[System] = []
    failures: list[ShardFailure] = []
    for name, folder in zip(names, folders.results, strict=True):
        scored = _score_folder(name, folder, folders, job)
        report = replace(_create_report(scored, ready), omitted=omitted)
        systems.append(System(name=name, report=report))
        failures += scored.failures
    for failure in failures:
        print(f"capeval: warning: shard skipped: {failure.message}", file=sys.stderr)
    if form == "json":
        deliver(to_json(systems), output)
    else:
        grid = create_score_table(systems, source=folders.references.name)
        render(replace(grid, notes=(*grid.notes, *_describe_failures(failures))), form, output)


def _score_folder(name: str, folder: Path, folders: ShardFolders, job: ShardScoringOptions) -> ShardScores:
    shards = list_shards(folders.references, folder)
    with Steps(2 * len(shards)) as steps:
        steps.next(f"Reading {name}")

        def told(step: str, timing: ShardTiming) -> None:
            steps.next(f"{name}: {step} {timing.shard.candidates.name}")

        return score_shards(shards, job, processes=folders.processes, skip=folders.skip, done=told)


def _create_report(scored: ShardScores, metrics: Sequence[Metric]) -> Report:
    """Create a report with only corpus scores, since the rows of images are not kept."""
    sums = scored.sums
    corpus = sums.corpus
    parts = tuple(
        Scores(
            names=metric.names,
            image_ids=(),
            corpus={name: corpus[name] for name in metric.names},
            per_image={},
            statistics=np.empty((0, len(metric.statistics))),
            signature=signature,
        )
        for metric, signature in zip(sums.metrics, sums.signatures.values(), strict=True)
    )
    report = create_report((), tuple(zip(sums.metrics, parts, strict=True)))
    why = {each.reason: each for each in scored.unscored}
    keys = zip(sums.signatures, metrics, strict=True)
    unscored = {key: why[metric.unscored_reason] for key, metric in keys if metric.unscored_reason in why}
    return replace(report, unscored=unscored)


def _describe_failures(failures: Sequence[ShardFailure]) -> list[str]:
    if not failures:
        return []
    count = "1 shard was" if len(failures) == 1 else f"{len(failures):,} shards were"
    return [f"{count} skipped; see the messages on standard error."]
