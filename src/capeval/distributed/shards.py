"""Scoring of folders of shards in processes with one shard each in memory."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from capeval import _native
from capeval._internal.machine import count_processors, measure_peak_memory
from capeval.data.captions import Candidates, ImageId, References
from capeval.data.columns import Columns
from capeval.distributed.partial_frequencies import PartialFrequencies
from capeval.distributed.partial_sums import Sums
from capeval.errors import (
    CapevalError,
    CapevalWarning,
    FormatError,
    MismatchError,
    ResourceError,
    UnscoredWarning,
)
from capeval.errors.messages import format_names
from capeval.formats import load_candidates
from capeval.formats.caption_files import read_references
from capeval.metrics.base import Counted, Metric
from capeval.resources.document_frequencies import DocumentFrequencies
from capeval.scoring.evaluator import Evaluator
from capeval.scoring.matching import list_problems
from capeval.tokenizers import TokenizedReferences, Tokenizer

__all__ = [
    "Shard",
    "ShardFailure",
    "ShardScores",
    "ShardScoringOptions",
    "ShardTiming",
    "list_shards",
    "score_shards",
]

_ENDINGS = (".parquet", ".arrow", ".arrows", ".feather")
# The number of attempts before a job with killed processes fails.
_ATTEMPTS = 3
# A process receives a group of shards, and returns their merged counts. There are several groups per process,
# to balance the load at the end; groups are small, so that they can be repeated quickly.
_GROUPS = 4
_LARGEST = 64


@dataclass(frozen=True, kw_only=True)
class Shard:
    """A part of the images: a reference file and a candidate file, possibly the same."""

    references: Path
    candidates: Path


@dataclass(frozen=True, kw_only=True)
class ShardScoringOptions:
    """Options of scoring a shard.

    Attributes:
        metrics: The metrics.
        tokenizer: The tokenizer.
        references: The columns of references.
        candidates: The columns of candidates.
        split: The splits of the references to read; empty for all.
    """

    metrics: tuple[Metric, ...]
    tokenizer: Tokenizer
    references: Columns
    candidates: Columns
    split: tuple[str, ...] = ()

    def load(self, shard: Shard) -> tuple[References, Candidates]:
        """Read the captions of a shard.

        Raises:
            FormatError: A file is invalid.
            MismatchError: The images of the references and of the candidates differ.
            OSError: A file can't be read.
        """
        references = read_references(shard.references, self.references, split=self.split)
        columns = self.candidates
        candidates = load_candidates(
            shard.candidates, id_column=columns.id_column, caption_column=columns.caption_column
        )
        for problem in list_problems(references, candidates, can_skip=False):
            raise MismatchError(f"{shard.candidates}: {problem}")
        return references, candidates

    def with_document_frequencies(self, counts: Mapping[Counted, DocumentFrequencies]) -> ShardScoringOptions:
        """Return the options with document frequencies for metrics that lack them."""
        metrics = (
            each
            if each.frequency_unit is None
            else each.with_document_frequencies(counts[each.frequency_unit])
            for each in self.metrics
        )
        return replace(self, metrics=tuple(metrics))


@dataclass(frozen=True, kw_only=True)
class ShardFailure:
    """A shard that can't be scored, and the error."""

    shard: Shard
    error: CapevalError | OSError

    @property
    def message(self) -> str:
        """The error message, with the file."""
        text = str(self.error)
        named = any(str(path) in text for path in (self.shard.references, self.shard.candidates))
        return text if named else f"{self.shard.candidates}: {text}"

    def stop(self) -> NoReturn:
        """Raise the error."""
        if isinstance(self.error, FormatError | OSError):
            raise self.error
        raise MismatchError(self.message) from self.error


@dataclass(frozen=True, kw_only=True)
class ShardTiming:
    """The images, processor seconds and peak memory of the process of a shard.

    `megabytes` is NaN on systems that do not report the peak memory (Windows).
    """

    shard: Shard
    images: int
    seconds: float
    megabytes: float


@dataclass(frozen=True, kw_only=True)
class ShardScores:
    """The sums of all scored shards, and the shards that could not be scored.

    Attributes:
        sums: The sums.
        failures: The shards that could not be scored.
        unscored: The images of scored shards that a metric could not score, in order; one warning per reason.
    """

    sums: Sums
    failures: tuple[ShardFailure, ...]
    unscored: tuple[UnscoredWarning, ...] = ()


def list_shards(references: Path, candidates: Path) -> list[Shard]:
    """List the shards of two folders with equal file names, or of one folder twice.

    Raises:
        FormatError: A folder has no Parquet or Arrow files.
        MismatchError: A file exists in only one folder.
        OSError: A folder can't be read.
    """
    names, others = _list_names(candidates), _list_names(references)
    if names != others:
        missing, folder = (names - others, references) if names - others else (others - names, candidates)
        raise MismatchError(
            f"folders of references and results must have shards with the same names ({folder} is missing"
            f" {min(missing)})"
        )
    return [Shard(references=references / name, candidates=candidates / name) for name in sorted(names)]


def _list_names(folder: Path) -> set[str]:
    names = {path.name for path in folder.iterdir() if path.name.lower().endswith(_ENDINGS)}
    if not names:
        suffixes = format_names(list(_ENDINGS))
        message = f"a folder of shards must have files with a suffix such as {suffixes} (got none)"
        raise FormatError(message, kind="Empty", path=folder)
    return names


def score_shards(
    shards: Sequence[Shard],
    job: ShardScoringOptions,
    *,
    processes: int | None = None,
    skip: bool = False,
    done: Callable[[str, ShardTiming], object] = lambda _, __: None,
) -> ShardScores:
    """Score shards in several processes.

    All shards are read twice. In the first pass, they are validated and the document frequencies of their
    references are counted. In the second pass, they are scored with the counts of all shards. If a process is
    killed, its unfinished work is repeated, so each shard counts once. Sums are added in the order of the
    shards, so the result does not depend on the number of processes, to the last digit. To find images in two
    shards, 16 bytes per image are kept in memory.

    Args:
        shards: The shards.
        job: The options of scoring a shard.
        processes: The number of processes; by default one per processor.
        skip: Whether to skip shards that can't be scored. The scores are then the scores of the other shards;
            if a shard fails after it was counted, everything is repeated without it.
        done: A callback that receives `checked` or `scored`, and the timing, for each completed shard.

    Raises:
        CapevalError: A shard can't be scored, an image is in two shards, no shards remain, or processes are
            killed repeatedly; the message names the shard.
        OSError: A shard can't be read.
    """
    run = _Run(processes=processes or count_processors(), skip=skip, done=done)
    while True:
        run.unscored.clear()
        counts = _count_frequencies(run, run.without_failures(shards), job)
        left = run.without_failures(shards)
        results = run.of_groups(_score_group, left, job.with_document_frequencies(counts), "scored")
        sums = {shard: sums for _, result in results for shard, sums in result.items()}
        if run.has_all(left):
            first, *others = (sums[shard] for shard in left)
            unscored = run.all_unscored()
            for warning in unscored:
                warnings.warn(warning, stacklevel=2)
            return ShardScores(sums=sum(others, first), failures=tuple(run.failures), unscored=unscored)


def _count_frequencies(
    run: _Run, shards: list[Shard], job: ShardScoringOptions
) -> dict[Counted, DocumentFrequencies]:
    """Validate the shards, and count the document frequencies of all that do not fail."""
    of_groups: dict[int, dict[Shard, NDArray[np.int64]]] = {}
    counts: dict[Counted, PartialFrequencies] = {}
    # Counts are added in order of completion, while other groups are counted. The order does not change the
    # sum, and keeping the counts of all groups would take most of the memory.
    for number, (of_group, parts) in run.of_groups(_check_group, shards, job, "checked"):
        of_groups[number] = of_group
        for kind in list(parts):
            counts[kind] = counts.get(kind, 0) + parts.pop(kind)
    ids = {shard: found for _, group in sorted(of_groups.items()) for shard, found in group.items()}
    if not ids:
        raise MismatchError(f"no shards remain to be scored; the first error was: {run.failures[0].message}")
    twice = list(_find_repeated(ids, job))
    for failure in twice:
        run.failed(failure)
    if twice:
        return _count_frequencies(run, run.without_failures(shards), job)
    return {kind: _finish_counts(counts.pop(kind)) for kind in list(counts)}


def _finish_counts(counts: PartialFrequencies) -> DocumentFrequencies:
    frequencies = counts.finish("references")
    # Compute the digest once here instead of in each process.
    _ = frequencies.digest
    return frequencies


def _find_repeated(ids: dict[Shard, NDArray[np.int64]], job: ShardScoringOptions) -> Iterator[ShardFailure]:
    """Yield the shards that repeat an image of an earlier shard."""
    every = np.concatenate(list(ids.values()))
    every.sort()
    again = np.unique(every[1:][every[1:] == every[:-1]])
    seen: dict[ImageId, Shard] = {}
    for shard, of_shard in ids.items():
        places = np.flatnonzero(np.isin(of_shard, again)) if again.size else ()
        # Read the ids again, because only hashes of string ids were kept.
        images = job.load(shard)[0].image_ids if len(places) else ()
        for image in (images[place] for place in places):
            first = seen.setdefault(image, shard)
            if first is not shard:
                message = f"duplicate image {image!r} (first seen in {first.references})"
                yield ShardFailure(shard=shard, error=MismatchError(f"{shard.references}: {message}"))
                break


def _make_id_keys(image_ids: tuple[ImageId, ...]) -> NDArray[np.int64]:
    """Return a number for each image: its id, or a hash of it."""
    if not isinstance(image_ids[0], str):
        return np.array(image_ids, dtype=np.int64)
    hashes = b"".join(blake2b(str(image).encode(), digest_size=8).digest() for image in image_ids)
    return np.frombuffer(hashes, dtype=np.int64)


_Checked = tuple[dict[Shard, NDArray[np.int64]], dict[Counted, PartialFrequencies]]


def _check_group(job: ShardScoringOptions, group: _Group) -> _Checked:
    """Return the image ids of each shard of a group, and the counts of the group."""
    kinds = {metric.frequency_unit for metric in job.metrics if metric.frequency_unit is not None}
    ids: dict[Shard, NDArray[np.int64]] = {}
    counts: dict[Counted, PartialFrequencies] = {}
    for shard in group:
        with group.timed(shard) as images:
            references, _ = job.load(shard)
            images.append(len(references))
            tokens = TokenizedReferences(references, job.tokenizer) if kinds else references
            parts = {kind: PartialFrequencies.of(tokens, stem=kind == "stems") for kind in kinds}
            ids[shard] = _make_id_keys(references.image_ids)
            # After everything that can fail, so that a shard counts completely or not at all.
            counts |= {kind: counts[kind] + part if kind in counts else part for kind, part in parts.items()}
    return ids, counts


def _score_group(job: ShardScoringOptions, group: _Group) -> dict[Shard, Sums]:
    """Return the sums of each shard of a group."""
    sums = {}
    for shard in group:
        with group.timed(shard) as images:
            references, candidates = job.load(shard)
            images.append(len(references))
            evaluator = Evaluator(references, job.metrics, tokenizer=job.tokenizer)
            sums[shard] = Sums.of(evaluator.evaluate(candidates))
    return sums


class _Group:
    """The shards that a process receives at once, with their timings and failures."""

    def __init__(self, shards: Sequence[Shard], *, skip: bool) -> None:
        self._shards = shards
        self._skip = skip
        self.timings: list[ShardTiming] = []
        self.failures: list[ShardFailure] = []

    def __iter__(self) -> Iterator[Shard]:
        for shard in self._shards:
            if self.failures and not self._skip:
                return
            yield shard

    @contextmanager
    def timed(self, shard: Shard) -> Iterator[list[int]]:
        """Record the timing or the failure of a shard.

        The `with` block appends the shard's number of images to the list.
        """
        images: list[int] = []
        start = time.process_time()
        try:
            yield images
        except (CapevalError, OSError) as error:
            self.failures.append(ShardFailure(shard=shard, error=error))
            return
        seconds = time.process_time() - start
        self.timings.append(
            ShardTiming(shard=shard, images=images[0], seconds=seconds, megabytes=measure_peak_memory())
        )


@dataclass(frozen=True, kw_only=True)
class _GroupResult:
    """The result of a group of shards, with timings, failures and warnings."""

    result: Any
    timings: list[ShardTiming]
    failures: list[ShardFailure]
    warnings: list[CapevalWarning]


_Work = Callable[[ShardScoringOptions, _Group], Any]
# The options of a worker process, set once when it starts.
_job: ShardScoringOptions | None = None


def _start_worker(job: ShardScoringOptions) -> None:
    global _job
    _job = job
    _native.set_threads(1)


def _process_group(work: _Work, group: _Group) -> _GroupResult:
    assert _job is not None  # noqa: S101 - `_start_worker` came first.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CapevalWarning)
        result = work(_job, group)
    told: list[CapevalWarning] = []
    for each in caught:
        if isinstance(each.message, CapevalWarning):
            told.append(each.message)
        else:
            warnings.showwarning(each.message, each.category, each.filename, each.lineno)
    return _GroupResult(result=result, timings=group.timings, failures=group.failures, warnings=told)


@dataclass(kw_only=True)
class _Run:
    """The state of a run: its processes, failures and warnings."""

    processes: int
    skip: bool
    done: Callable[[str, ShardTiming], object]
    failures: list[ShardFailure] = field(default_factory=list)
    warned: set[str] = field(default_factory=set)
    unscored: list[UnscoredWarning] = field(default_factory=list)

    def without_failures(self, shards: Sequence[Shard]) -> list[Shard]:
        failed = {failure.shard for failure in self.failures}
        return [shard for shard in shards if shard not in failed]

    def has_all(self, shards: Sequence[Shard]) -> bool:
        """Return whether none of these shards has failed."""
        return len(self.without_failures(shards)) == len(shards)

    def failed(self, failure: ShardFailure) -> None:
        """Record a shard that can't be scored or, without `skip`, raise its error."""
        if not self.skip:
            failure.stop()
        self.failures.append(failure)

    def all_unscored(self) -> tuple[UnscoredWarning, ...]:
        """Return one warning per reason about the unscored images of all shards."""
        images: dict[tuple[str, str], set[ImageId]] = {}
        for each in self.unscored:
            images.setdefault((each.reason, each.fix), set()).update(each.images)
        # All ids of a corpus are integers, or all strings.
        return tuple(UnscoredWarning(sorted(found), *why) for why, found in images.items())

    def _warn(self, warning: CapevalWarning) -> None:
        """Repeat a warning of a worker process in this process, once for all workers."""
        if isinstance(warning, UnscoredWarning):
            # Merged over all shards at the end.
            self.unscored.append(warning)
        elif str(warning) not in self.warned:
            self.warned.add(str(warning))
            warnings.warn(warning, stacklevel=2)

    def of_groups(
        self, work: _Work, shards: list[Shard], job: ShardScoringOptions, step: str
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number and the result of each completed group of shards.

        Each group is yielded once, even if processes are killed.
        """
        size = max(1, min(_LARGEST, len(shards) // (_GROUPS * self.processes)))
        groups = [shards[first : first + size] for first in range(0, len(shards), size)]
        waiting = dict(enumerate(groups))
        for _ in range(_ATTEMPTS):
            if not waiting:
                break
            for number, done in self._run_groups(work, dict(waiting), job):
                del waiting[number]
                for warning in done.warnings:
                    self._warn(warning)
                for failure in done.failures:
                    self.failed(failure)
                for timing in done.timings:
                    self.done(step, timing)
                yield number, done.result
        if waiting:
            names = format_names([group[0].candidates.name for group in waiting.values()])
            raise ResourceError(
                f"processes were killed {_ATTEMPTS} times, possibly for lack of memory; use smaller shards or"
                f" fewer processes (the remaining groups start with {names})"
            )

    def _run_groups(
        self, work: _Work, groups: dict[int, list[Shard]], job: ShardScoringOptions
    ) -> Iterator[tuple[int, _GroupResult]]:
        """Yield the results of groups until a process is killed."""
        # Spawned instead of forked, because threads of this process may hold locks.
        pool = ProcessPoolExecutor(
            min(self.processes, len(groups)), get_context("spawn"), initializer=_start_worker, initargs=(job,)
        )
        try:
            futures: dict[Future[Any], int] = {}
            with suppress(BrokenProcessPool):
                for number, group in groups.items():
                    futures[pool.submit(_process_group, work, _Group(group, skip=self.skip))] = number
            for future in as_completed(futures):
                # If a process is killed, the pool ends the others; their completed results remain valid.
                if not isinstance(future.exception(), BrokenProcessPool):
                    # Popped, so that the result is freed before all results are complete.
                    yield futures.pop(future), future.result()
        finally:
            pool.shutdown(cancel_futures=True)
