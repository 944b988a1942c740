"""Scoring in child processes: a metric that crashes does not affect other metrics.

A child process prepares one file of references, and is reused for later submissions. The most recently used
children are kept, except after a failure.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from django.conf import settings

from capeval.data.scores import FloatArray
from capeval.metrics import METRICS
from capeval.metrics.base import Resource
from capeval_server.submissions.scoring.score_arrays import packed_samples, packed_values

__all__ = [
    "MetricOutcome",
    "MetricProgress",
    "ScoringError",
    "ScoringRequest",
    "SubmissionScorer",
    "memory_limit",
    "time_limit",
]

_log = logging.getLogger(__name__)

# Interval between calls of `alive`, in seconds.
_ALIVE_SECONDS = 0.5
# The sums of resamples are products of narrow matrices, which more threads do not make faster. With one
# thread, their last bits do not depend on the number of processors.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}

# Signals caused by the child itself: an invalid access, or an allocation beyond its limit.
_OWN_SIGNALS = (signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV)


class ScoringError(Exception):
    """Scoring failure that is not caused by a metric; the message is only for the log."""


@dataclass(frozen=True, kw_only=True)
class ScoringRequest:
    """Results file to score.

    Attributes:
        key: The key of the references; equal keys mean equal files.
        references: Writes the references file to a folder and returns its path.
        candidates: The results file.
        folder: A folder for arrays, for this request only.
        metrics: The metrics, by name.
        subsets: Subsets of the images to score as well.
        images: All images, in the requested order of image scores; None for no image scores.
        report: Called when a metric begins, also when it restarts, and with the progress of its long work.
    """

    key: int | str
    references: Callable[[Path], Path]
    candidates: Path
    folder: Path
    metrics: Sequence[str]
    subsets: Mapping[str, Sequence[int | str]] = field(default_factory=dict)
    images: Sequence[int | str] | None = None
    report: Callable[[MetricProgress], object] = lambda _: None


@dataclass(frozen=True, kw_only=True)
class MetricProgress:
    """Progress of one metric.

    Attributes:
        metric: The metric.
        work: The name of long work, such as parsing captions; empty if there is none.
        work_done: The amount of that work that is done.
        work_total: The total amount of that work.
    """

    metric: str
    work: str = ""
    work_done: int = 0
    work_total: int = 0


@dataclass(frozen=True, kw_only=True)
class MetricOutcome:
    """Outcome of one metric.

    Attributes:
        metric: The metric.
        scores: The scores: subset, name, value, low, high, samples and the number of images.
        swaps: The sums over swapped images: subset, number of images and values.
        names: The names of the scores.
        images: The scores of each image, one column per name; None if not requested.
        signature: The signature of the metric.
        failure: The reason of a failure for the submitter.
        by_content: Whether the submission's content caused the failure, not the references or the system.
        log: The full reason of a failure.
    """

    metric: str
    scores: Sequence[Mapping[str, Any]] = field(default=())
    swaps: Sequence[Mapping[str, Any]] = field(default=())
    names: Sequence[str] = field(default=())
    images: FloatArray | None = None
    signature: str = ""
    failure: str = ""
    by_content: bool = False
    log: str = ""


@dataclass(frozen=True, kw_only=True)
class _End:
    """Premature end of a process, and whether its current work may be the cause."""

    reason: str
    by_itself: bool


class SubmissionScorer:
    """Scorer of results files, which keeps prepared child processes for later files."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int | str, _Child] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        while self._kept:
            self._kept.popitem()[1].end()

    def __contains__(self, key: object) -> bool:
        """Return whether references are prepared."""
        return key in self._kept

    def score(self, task: ScoringRequest, alive: Callable[[], None]) -> list[MetricOutcome]:
        """Score a results file with several metrics.

        Args:
            task: The results file and metrics.
            alive: Called regularly during scoring; an exception from it ends the scoring.

        Returns:
            The outcome of each metric, in order.

        Raises:
            ScoringError: A process could not start, read its files or write its arrays.
        """
        outcomes: list[MetricOutcome] = []
        while len(outcomes) < len(task.metrics):
            kept = self._kept.pop(task.key, None)
            child = kept or _Child(task)
            try:
                # If the process ends during a metric, only that metric fails; a new process continues.
                done = child.score(task, task.metrics[len(outcomes) :], alive)
                outcomes += done
                if len(outcomes) == len(task.metrics) and not any(outcome.failure for outcome in done):
                    self._keep(task.key, child)
            except _EarlyEndError as error:
                # An idle process may have been killed in the meantime, so a new one is tried.
                if kept is None:
                    raise ScoringError(str(error)) from None
            finally:
                if self._kept.get(task.key) is not child:
                    child.end()
        return outcomes

    def _keep(self, key: int | str, child: _Child) -> None:
        self._kept[key] = child
        while len(self._kept) > settings.PREPARED:
            self._kept.popitem(last=False)[1].end()


class _EarlyEndError(Exception):
    """End of a process before it began with a metric."""


class _Child:
    """Process that has read a file of references."""

    def __init__(self, task: ScoringRequest) -> None:
        # Read once, with the first file of results.
        references = task.references(task.folder)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process.
        self._answers: queue.Queue[bytes] = queue.Queue()
        about = {
            "references": str(references),
            "memory": memory_limit(task.metrics),
            "samples": settings.BOOTSTRAP_SAMPLES,
            "kept": str(settings.KEPT),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "capeval_server.submissions.scoring.child_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | _ENVIRONMENT,
        )
        threading.Thread(target=self._read, daemon=True).start()
        self._asked = self._ask(about)

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # Flushing unread input fails.
                with suppress(BrokenPipeError):
                    pipe.close()
        self._errors.close()

    def score(
        self, task: ScoringRequest, metrics: Sequence[str], alive: Callable[[], None]
    ) -> list[MetricOutcome]:
        """Return the outcomes until the process is done or ends.

        They include the outcome of the metric during which the process ended.

        Raises:
            ScoringError: The arrays could not be written.
            _EarlyEndError: The process ended, or took too long, before it began with the first metric.
        """
        job = {
            "candidates": str(task.candidates),
            "folder": str(task.folder),
            "memory": memory_limit(task.metrics),
            "metrics": list(metrics),
            "subsets": task.subsets,
            "images": task.images,
        }
        outcomes: list[MetricOutcome] = []
        started: str | None = None
        prepared = False
        for answer in self._lines(job, alive):
            if isinstance(answer, _End):
                if started is not None:
                    failure, blamed = f"{started} {answer.reason}", prepared and answer.by_itself
                    log = self._tail()
                    outcomes.append(
                        MetricOutcome(metric=started, failure=failure, by_content=blamed, log=log)
                    )
                elif not outcomes:
                    raise _EarlyEndError(f"scoring {answer.reason} before its first metric\n{self._tail()}")
                return outcomes
            if "warning" in answer:
                _log.warning(answer["warning"])
            if "started" in answer and ("work" in answer or answer["started"] != started):
                started = answer["started"]
                task.report(_describe_progress(answer))
            prepared = answer.get("prepared", prepared)
            if "finished" in answer:
                outcomes.append(_build_outcome(answer, task.folder))
                # If the process ends now, no metric fails; a new process continues.
                started, prepared = None, False
        return outcomes

    def _lines(self, job: dict[str, Any], alive: Callable[[], None]) -> Iterator[dict[str, Any] | _End]:
        """Yield the answers until all is done; after a premature end, the last is `_End`."""
        # A file, because writing much data to a pipe that is not read would block.
        path = Path(job["folder"]) / "job.json"
        path.write_text(json.dumps(job), encoding="utf-8")
        if not (self._asked and self._ask(str(path))):
            yield _describe_end(self._process.wait())
            return
        left = len(job["metrics"])
        limit = settings.METRIC_SECONDS
        deadline = time.monotonic() + limit
        while left:
            try:
                line = self._answers.get(timeout=min(_ALIVE_SECONDS, settings.LEASE_SECONDS / 4))
            except queue.Empty:
                line = None
            # Not after `alive`, which may wait for the database: answers that arrive then are read first.
            is_late = time.monotonic() > deadline
            alive()
            if line == b"":
                yield _describe_end(self._process.wait())
                return
            if line is not None:
                answer = json.loads(line)
                left -= "finished" in answer
                limit = time_limit(answer["started"]) if "started" in answer else limit
                deadline = time.monotonic() + limit
                yield answer
            elif is_late:
                yield _End(reason=f"took longer than {limit} s", by_itself=True)
                return

    def _ask(self, content: object) -> bool:
        assert self._process.stdin is not None  # noqa: S101 - opened as a pipe.
        try:
            self._process.stdin.write(json.dumps(content).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return False
        return True

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - opened as a pipe.
        try:
            for line in self._process.stdout:
                self._answers.put(line)
        except ValueError:
            # Closed while it was read; the answers are no longer needed.
            return
        self._answers.put(b"")

    def _tail(self) -> str:
        self._errors.seek(0, 2)
        self._errors.seek(max(self._errors.tell() - 10_000, 0))
        return self._errors.read().decode("utf-8", "replace")


def memory_limit(metrics: Iterable[str]) -> int:
    """Return the address space limit of a process in bytes.

    It is the sum of the setting and of the needs of the metrics' resources.
    """
    return settings.MEMORY_BYTES + sum(resource.memory for resource in _list_resources(metrics))


def time_limit(metric: str) -> int:
    """Return the time limit of a metric in seconds.

    It is the sum of the setting and of the time to build and read the metric's resources.
    """
    return settings.METRIC_SECONDS + sum(resource.seconds for resource in _list_resources([metric]))


def _list_resources(metrics: Iterable[str]) -> set[Resource]:
    known = [METRICS[metric]() for metric in metrics if metric in METRICS]
    return {resource for metric in known for resource in metric.resources}


def _describe_progress(answer: dict[str, Any]) -> MetricProgress:
    work, done, total = answer.get("work", ("", 0, 0))
    return MetricProgress(metric=answer["started"], work=work, work_done=int(done), work_total=total)


def _build_outcome(answer: dict[str, Any], folder: Path) -> MetricOutcome:
    metric = answer["finished"]
    if "broken" in answer:
        raise ScoringError(answer["broken"])
    if "failure" in answer:
        failure = f"{metric} could not be computed ({answer['failure']})"
        return MetricOutcome(
            metric=metric, failure=failure, by_content=answer["by_content"], log=answer["log"]
        )
    with np.load(folder / answer["arrays"], allow_pickle=False) as arrays:
        samples, images = arrays["samples"], arrays.get("images")
        swaps = [
            {**about, "values": packed_values(arrays[f"swaps{number}"])}
            for number, about in enumerate(answer["swaps"])
        ]
    scores = [
        {**score, "samples": packed_samples(values)}
        for score, values in zip(answer["scores"], samples, strict=True)
    ]
    return MetricOutcome(
        metric=metric,
        scores=scores,
        swaps=swaps,
        names=answer["names"],
        images=images,
        signature=answer["signature"],
    )


def _describe_end(code: int) -> _End:
    # A process that is killed from outside, such as by the out-of-memory killer, gets other signals than for
    # its own faults.
    if code < 0:
        found = signal.Signals(-code)
        return _End(reason=f"was stopped by {found.name}", by_itself=found in _OWN_SIGNALS)
    return _End(reason=f"ended with exit code {code}", by_itself=True)
