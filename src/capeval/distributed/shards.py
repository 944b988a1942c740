"""Folders of shards, scored by several processes, each of which has one shard in memory at a time."""

from __future__ import annotations

import os
import resource
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
from capeval.errors.messages import listed
from capeval.formats import load_candidates
from capeval.formats.caption_files import read_references
from capeval.metrics.base import Counted, Metric
from capeval.resources.document_frequencies import DocumentFrequencies
from capeval.scoring.evaluator import Evaluator, problems
from capeval.tokenizers import TokenizedReferences, Tokenizer

__all__ = [
    "Shard",
    "ShardFailure",
    "ShardScores",
    "ShardScoringOptions",
    "ShardTiming",
    "score_shards",
    "shards_in",
]

_ENDINGS = (".parquet", ".arrow", ".arrows", ".feather")
# How often processes may be killed before the job is given up.
_ATTEMPTS = 3
# A process gets a group of shards at once, and sends their counts as one. There are more groups than
# processes, so that none waits long for the last one, and few shards in each, which are quickly done again.
_GROUPS = 4
_LARGEST = 64


@dataclass(frozen=True, kw_only=True)
class Shard:
    """A part of the images: a file with their references, and one, which may be the same, with candidates."""

    references: Path
    candidates: Path


@dataclass(frozen=True, kw_only=True)
class ShardScoringOptions:
    """What is done with each shard.

    Attributes:
        metrics: The metrics.
        tokenizer: How to tokenize.
        references: The columns of references.
        candidates: The columns of candidates.
        split: The splits of the references that are read; all where there are none.
    """

    metrics: tuple[Metric, ...]
    tokenizer: Tokenizer
    references: Columns
    candidates: Columns
    split: tuple[str, ...] = ()

    def load(self, shard: Shard) -> tuple[References, Candidates]:
        """The captions of a shard.

        Raises:
            FormatError: A file is not what it must be.
            MismatchError: The images of the references and of the candidates differ.
            OSError: A file can't be read.
        """
        references = read_references(shard.references, self.references, split=self.split)
        columns = self.candidates
        candidates = load_candidates(
            shard.candidates, id_column=columns.id_column, caption_column=columns.caption_column
        )
        for problem in problems(references, candidates):
            raise MismatchError(f"{shard.candidates}: {problem}")
        return references, candidates

    def weighed_by(self, counts: Mapping[Counted, DocumentFrequencies]) -> ShardScoringOptions:
        """The job with document frequencies, where metrics have none yet."""
        metrics = (
            each if each.counts is None else each.weighed_by(counts[each.counts]) for each in self.metrics
        )
        return replace(self, metrics=tuple(metrics))


@dataclass(frozen=True, kw_only=True)
class ShardFailure:
    """A shard that can't be scored, and the error that says why."""

    shard: Shard
    error: CapevalError | OSError

    @property
    def message(self) -> str:
        """The error, with the file."""
        text = str(self.error)
        named = any(str(path) in text for path in (self.shard.references, self.shard.candidates))
        return text if named else f"{self.shard.candidates}: {text}"

    def stop(self) -> NoReturn:
        """Raises the error."""
        if isinstance(self.error, FormatError | OSError):
            raise self.error
        raise MismatchError(self.message) from self.error


@dataclass(frozen=True, kw_only=True)
class ShardTiming:
    """How a shard went: its images, the processor seconds it took, the most memory of its process yet."""

    shard: Shard
    images: int
    seconds: float
    megabytes: float


@dataclass(frozen=True, kw_only=True)
class ShardScores:
    """The sums of all shards that could be scored, and the shards that could not.

    Attributes:
        sums: The sums.
        failures: The shards that could not be scored.
        unscored: The images of scored shards that a metric could not score, in order, one for each reason.
    """

    sums: Sums
    failures: tuple[ShardFailure, ...]
    unscored: tuple[UnscoredWarning, ...] = ()


def shards_in(references: Path, candidates: Path) -> list[Shard]:
    """The shards of two folders that have files of the same names, or of one folder given twice.

    Raises:
        FormatError: A folder has no Parquet or Arrow file.
        MismatchError: One folder has files that the other has not.
        OSError: A folder can't be read.
    """
    names, others = _names(candidates), _names(references)
    if names != others:
        missing, folder = (names - others, references) if names - others else (others - names, candidates)
        raise MismatchError(
            f"folders of references and of results must have shards of the same names ({folder} must have"
            f" {min(missing)})"
        )
    return [Shard(references=references / name, candidates=candidates / name) for name in sorted(names)]


def _names(folder: Path) -> set[str]:
    names = {path.name for path in folder.iterdir() if path.name.lower().endswith(_ENDINGS)}
    if not names:
        message = f"a folder of shards must have files that end in {listed(list(_ENDINGS))} (got none)"
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
    """Scores shards in several processes.

    All shards are read twice: they are checked, and the document frequencies of their references counted; and
    then they are scored with the counts of all. What a process that is killed had not finished is done again,
    so each shard counts once. Sums are added in the order of the shards: the number of processes changes no
    digit. To find images that are in two shards, 16 bytes are kept for each image.

    Args:
        shards: The shards.
        job: What is done with each.
        processes: The number of processes; one for each processor by default.
        skip: Whether to go on without shards that can't be scored. Scores are then those of the others, as if
            these were not there: where one fails after it was counted, all is done again without it.
        done: Is called with `checked` or `scored`, and how it went, when a shard is done.

    Raises:
        CapevalError: A shard can't be scored, an image is in two shards, no shard is left, or processes are
            killed again and again; the message names the shard.
        OSError: A shard can't be read.
    """
    run = _Run(processes=processes or len(os.sched_getaffinity(0)), skip=skip, done=done)
    while True:
        run.unscored.clear()
        counts = _counted(run, run.without_failures(shards), job)
        left = run.without_failures(shards)
        results = run.of_groups(_score, left, job.weighed_by(counts), "scored")
        sums = {shard: sums for _, result in results for shard, sums in result.items()}
        if run.has_all(left):
            first, *others = (sums[shard] for shard in left)
            unscored = run.all_unscored()
            for warning in unscored:
                warnings.warn(warning, stacklevel=2)
            return ShardScores(sums=sum(others, first), failures=tuple(run.failures), unscored=unscored)


def _counted(run: _Run, shards: list[Shard], job: ShardScoringOptions) -> dict[Counted, DocumentFrequencies]:
    """The document frequencies of all shards but those that fail: they are checked on the way."""
    of_groups: dict[int, dict[Shard, NDArray[np.int64]]] = {}
    counts: dict[Counted, PartialFrequencies] = {}
    # Added up while other groups are counted, and in any order: it changes no count, and all groups' counts
    # together would take more memory than anything else.
    for number, (of_group, parts) in run.of_groups(_check, shards, job, "checked"):
        of_groups[number] = of_group
        for kind in list(parts):
            counts[kind] = counts.get(kind, 0) + parts.pop(kind)
    ids = {shard: found for _, group in sorted(of_groups.items()) for shard, found in group.items()}
    if not ids:
        raise MismatchError(f"no shard is left to score; the first failed: {run.failures[0].message}")
    twice = list(_twice(ids, job))
    for failure in twice:
        run.failed(failure)
    if twice:
        return _counted(run, run.without_failures(shards), job)
    return {kind: _finished(counts.pop(kind)) for kind in list(counts)}


def _finished(counts: PartialFrequencies) -> DocumentFrequencies:
    frequencies = counts.finish("references")
    # Here once, and not in each process.
    _ = frequencies.digest
    return frequencies


def _twice(ids: dict[Shard, NDArray[np.int64]], job: ShardScoringOptions) -> Iterator[ShardFailure]:
    """Shards with an image that is in an earlier one too."""
    every = np.concatenate(list(ids.values()))
    every.sort()
    again = np.unique(every[1:][every[1:] == every[:-1]])
    seen: dict[ImageId, Shard] = {}
    for shard, of_shard in ids.items():
        places = np.flatnonzero(np.isin(of_shard, again)) if again.size else ()
        # The ids themselves, since those of text are only known by their hashes.
        images = job.load(shard)[0].image_ids if len(places) else ()
        for image in (images[place] for place in places):
            first = seen.setdefault(image, shard)
            if first is not shard:
                message = f"image {image!r} must be in one shard (it is in {first.references} too)"
                yield ShardFailure(shard=shard, error=MismatchError(f"{shard.references}: {message}"))
                break


def _id_keys(image_ids: tuple[ImageId, ...]) -> NDArray[np.int64]:
    """A number for each image: its id, or a hash of it."""
    if not isinstance(image_ids[0], str):
        return np.array(image_ids, dtype=np.int64)
    hashes = b"".join(blake2b(str(image).encode(), digest_size=8).digest() for image in image_ids)
    return np.frombuffer(hashes, dtype=np.int64)


_Checked = tuple[dict[Shard, NDArray[np.int64]], dict[Counted, PartialFrequencies]]


def _check(job: ShardScoringOptions, group: _Group) -> _Checked:
    """The ids and the counts of a group of shards."""
    kinds = {metric.counts for metric in job.metrics if metric.counts is not None}
    ids: dict[Shard, NDArray[np.int64]] = {}
    counts: dict[Counted, PartialFrequencies] = {}
    for shard in group:
        with group.timed(shard) as images:
            references, _ = job.load(shard)
            images.append(len(references))
            tokens = TokenizedReferences(references, job.tokenizer) if kinds else references
            parts = {kind: PartialFrequencies.of(tokens, stem=kind == "stems") for kind in kinds}
            ids[shard] = _id_keys(references.image_ids)
            # After everything that can fail, so that a shard counts whole or not at all.
            counts |= {kind: counts[kind] + part if kind in counts else part for kind, part in parts.items()}
    return ids, counts


def _score(job: ShardScoringOptions, group: _Group) -> dict[Shard, Sums]:
    """The sums of each shard of a group."""
    sums = {}
    for shard in group:
        with group.timed(shard) as images:
            references, candidates = job.load(shard)
            images.append(len(references))
            evaluator = Evaluator(references, job.metrics, tokenizer=job.tokenizer)
            sums[shard] = Sums.of(evaluator.evaluate(candidates))
    return sums


class _Group:
    """The shards that a process gets at once, and how they went."""

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
        """Notes how a shard goes, or that it can't be scored. Its number of images is put into the list."""
        images: list[int] = []
        start = time.process_time()
        try:
            yield images
        except (CapevalError, OSError) as error:
            self.failures.append(ShardFailure(shard=shard, error=error))
            return
        seconds = time.process_time() - start
        self.timings.append(ShardTiming(shard=shard, images=images[0], seconds=seconds, megabytes=_peak()))


def _peak() -> float:
    """The most memory of this process, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = (line.split() for line in status.read_text().splitlines())
        return next(float(line[1]) for line in lines if line[0] == "VmHWM:") / 1024
    # On Linux this would be that of the process that started this one, where it had more.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@dataclass(frozen=True, kw_only=True)
class _Done:
    """The result of a group of shards, with timings, failures and the warnings of the process."""

    result: Any
    timings: list[ShardTiming]
    failures: list[ShardFailure]
    warnings: list[CapevalWarning]


_Work = Callable[[ShardScoringOptions, _Group], Any]
# What the processes of a pool are given once, when they start.
_job: ShardScoringOptions | None = None


def _start(job: ShardScoringOptions) -> None:
    global _job
    _job = job
    _native.set_threads(1)


def _work(work: _Work, group: _Group) -> _Done:
    assert _job is not None  # noqa: S101 - `_start` came first.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CapevalWarning)
        result = work(_job, group)
    told: list[CapevalWarning] = []
    for each in caught:
        if isinstance(each.message, CapevalWarning):
            told.append(each.message)
        else:
            warnings.showwarning(each.message, each.category, each.filename, each.lineno)
    return _Done(result=result, timings=group.timings, failures=group.failures, warnings=told)


@dataclass(kw_only=True)
class _Run:
    """Processes, and the shards that failed in them."""

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
        """Whether none of these shards has failed."""
        return len(self.without_failures(shards)) == len(shards)

    def failed(self, failure: ShardFailure) -> None:
        """Notes that a shard can't be scored, or raises its error."""
        if not self.skip:
            failure.stop()
        self.failures.append(failure)

    def all_unscored(self) -> tuple[UnscoredWarning, ...]:
        """Return the images of all shards without a score: one warning for each reason."""
        images: dict[tuple[str, str], set[ImageId]] = {}
        for each in self.unscored:
            images.setdefault((each.reason, each.fix), set()).update(each.images)
        # All ids of a corpus are integers, or all strings.
        return tuple(UnscoredWarning(sorted(found), *why) for why, found in images.items())

    def _warn(self, warning: CapevalWarning) -> None:
        """Repeat a warning of another process in this one, once for all processes."""
        if isinstance(warning, UnscoredWarning):
            # Merged over all shards at the end.
            self.unscored.append(warning)
        elif str(warning) not in self.warned:
            self.warned.add(str(warning))
            warnings.warn(warning, stacklevel=2)

    def of_groups(
        self, work: _Work, shards: list[Shard], job: ShardScoringOptions, step: str
    ) -> Iterator[tuple[int, Any]]:
        """The number and the result of each group of shards, as they are done: once, whatever is killed."""
        size = max(1, min(_LARGEST, len(shards) // (_GROUPS * self.processes)))
        groups = [shards[first : first + size] for first in range(0, len(shards), size)]
        waiting = dict(enumerate(groups))
        for _ in range(_ATTEMPTS):
            if not waiting:
                break
            for number, done in self._results(work, dict(waiting), job):
                del waiting[number]
                for warning in done.warnings:
                    self._warn(warning)
                for failure in done.failures:
                    self.failed(failure)
                for timing in done.timings:
                    self.done(step, timing)
                yield number, done.result
        if waiting:
            names = listed([group[0].candidates.name for group in waiting.values()])
            raise ResourceError(
                f"processes were killed {_ATTEMPTS} times, perhaps for want of memory: make shards smaller or"
                f" take fewer processes (what is left begins with {names})"
            )

    def _results(
        self, work: _Work, groups: dict[int, list[Shard]], job: ShardScoringOptions
    ) -> Iterator[tuple[int, _Done]]:
        """What processes make of groups, until one of them is killed."""
        # Spawned and not forked: threads of this process may hold locks.
        pool = ProcessPoolExecutor(
            min(self.processes, len(groups)), get_context("spawn"), initializer=_start, initargs=(job,)
        )
        try:
            futures: dict[Future[Any], int] = {}
            with suppress(BrokenProcessPool):
                for number, group in groups.items():
                    futures[pool.submit(_work, work, _Group(group, skip=self.skip))] = number
            for future in as_completed(futures):
                # When one is killed, the pool ends the others too; what they had finished stays.
                if not isinstance(future.exception(), BrokenProcessPool):
                    # Popped, so that the result does not stay until all are there.
                    yield futures.pop(future), future.result()
        finally:
            pool.shutdown(cancel_futures=True)
