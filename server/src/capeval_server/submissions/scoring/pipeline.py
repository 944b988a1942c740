"""Scoring in child processes: a metric that ends its process does not affect the other metrics.

A child prepares a file of references once, and is kept for the next submission. The children used last are
kept, except those in which anything went wrong.
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
from capeval_server.submissions.scoring.score_arrays import packed_samples

__all__ = [
    "MetricOutcome",
    "ScoringError",
    "ScoringRequest",
    "SubmissionScorer",
    "memory_limit",
    "time_limit",
]

_log = logging.getLogger(__name__)

# How often `alive` is called, in seconds.
_ALIVE_SECONDS = 0.5
# Sums of resamples are narrow products, in which more threads only wait for each other; and with one, their
# last bits are the same whatever number of processors a worker has.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}

# What a process gets for what it does itself: a wrong access, or an allocation beyond its limit.
_OWN_SIGNALS = (signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV)


class ScoringError(Exception):
    """Scoring could not start or go on, for a reason other than a metric; the message is only for the log."""


@dataclass(frozen=True, kw_only=True)
class ScoringRequest:
    """A file of results to score.

    Attributes:
        key: The key of the references: the same key means the same file.
        references: Puts the file of references into a folder, and returns where it is.
        candidates: The file of results.
        folder: A folder for arrays, which the task has to itself.
        metrics: The metrics, by name.
        subsets: Subsets of the images to score too.
        images: All images, in the order in which their scores are wanted; none where they are not.
        started: Called with the name of each metric when it begins, again if it has to begin anew.
    """

    key: int | str
    references: Callable[[Path], Path]
    candidates: Path
    folder: Path
    metrics: Sequence[str]
    subsets: Mapping[str, Sequence[int | str]] = field(default_factory=dict)
    images: Sequence[int | str] | None = None
    started: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, kw_only=True)
class MetricOutcome:
    """What one metric gave.

    Attributes:
        metric: The metric.
        scores: Its numbers: subset, name, value, low, high and samples.
        names: The names of its scores.
        images: The scores of each image, a column for each name; none where they are not wanted.
        signature: What they depend on.
        failure: Why there are none, for the submitter.
        by_content: Whether the submission's own content is why, not the references or the system.
        log: Why there are none, in full.
    """

    metric: str
    scores: Sequence[Mapping[str, Any]] = field(default=())
    names: Sequence[str] = field(default=())
    images: FloatArray | None = None
    signature: str = ""
    failure: str = ""
    by_content: bool = False
    log: str = ""


@dataclass(frozen=True, kw_only=True)
class _End:
    """How a process ended before it was done; and whether what it was busy with may be why."""

    reason: str
    by_itself: bool


class SubmissionScorer:
    """Scores one file after the other, and keeps what it prepared for the next."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int | str, _Child] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes."""
        while self._kept:
            self._kept.popitem()[1].end()

    def __contains__(self, key: object) -> bool:
        """Whether references are prepared."""
        return key in self._kept

    def score(self, task: ScoringRequest, alive: Callable[[], None]) -> list[MetricOutcome]:
        """Scores a file of results with several metrics.

        Args:
            task: What to score.
            alive: Called regularly while scoring goes on; an exception from it ends the scoring.

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
                # If the process ends within a metric, only that one fails: another process goes on.
                done = child.score(task, task.metrics[len(outcomes) :], alive)
                outcomes += done
                if len(outcomes) == len(task.metrics) and not any(outcome.failure for outcome in done):
                    self._keep(task.key, child)
            except _EarlyEndError as error:
                # An idle process may have been killed meanwhile: a new one is tried.
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
    """A process ended before it began with a metric."""


class _Child:
    """A process that has read a file of references."""

    def __init__(self, task: ScoringRequest) -> None:
        # Read once, with the first file of results.
        references = task.references(task.folder)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the process.
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
        """Ends the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # What it had not read yet is lost with it.
                with suppress(BrokenPipeError):
                    pipe.close()
        self._errors.close()

    def score(
        self, task: ScoringRequest, metrics: Sequence[str], alive: Callable[[], None]
    ) -> list[MetricOutcome]:
        """The outcomes until the process is done or ends, with that of the metric in which it ended.

        Raises:
            ScoringError: Its arrays could not be written.
            _EarlyEndError: It ended, or took too long, before it began with the first metric.
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
            if answer.get("started", started) != started:
                started = answer["started"]
                task.started(started)
            prepared = answer.get("prepared", prepared)
            if "finished" in answer:
                outcomes.append(_outcome(answer, task.folder))
                # If it ends now, no metric fails: another process goes on.
                started, prepared = None, False
        return outcomes

    def _lines(self, job: dict[str, Any], alive: Callable[[], None]) -> Iterator[dict[str, Any] | _End]:
        """The answers until all is done; if the process ended, the last one says why."""
        # By a file, since writing much to a pipe that is not read would block.
        path = Path(job["folder"]) / "job.json"
        path.write_text(json.dumps(job))
        if not (self._asked and self._ask(str(path))):
            yield _ending(self._process.wait())
            return
        left = len(job["metrics"])
        limit = settings.METRIC_SECONDS
        deadline = time.monotonic() + limit
        while left:
            try:
                line = self._answers.get(timeout=min(_ALIVE_SECONDS, settings.LEASE_SECONDS / 4))
            except queue.Empty:
                line = None
            alive()
            if line == b"":
                yield _ending(self._process.wait())
                return
            if line is not None:
                answer = json.loads(line)
                left -= "finished" in answer
                limit = time_limit(answer["started"]) if "started" in answer else limit
                deadline = time.monotonic() + limit
                yield answer
            elif time.monotonic() > deadline:
                yield _End(reason=f"took longer than {limit} s", by_itself=True)
                return

    def _ask(self, content: object) -> bool:
        assert self._process.stdin is not None  # noqa: S101 - it was opened as a pipe.
        try:
            self._process.stdin.write(json.dumps(content).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return False
        return True

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it was opened as a pipe.
        try:
            for line in self._process.stdout:
                self._answers.put(line)
        except ValueError:
            # Closed while it was read: the answers are not needed any more.
            return
        self._answers.put(b"")

    def _tail(self) -> str:
        self._errors.seek(0, 2)
        self._errors.seek(max(self._errors.tell() - 10_000, 0))
        return self._errors.read().decode("utf-8", "replace")


def memory_limit(metrics: Iterable[str]) -> int:
    """How much address space a process may take: the setting, and what the resources of some metrics take."""
    return settings.MEMORY_BYTES + sum(resource.memory for resource in _needs(metrics))


def time_limit(metric: str) -> int:
    """How many seconds a metric may take: the setting, and what its resources take to be made and read."""
    return settings.METRIC_SECONDS + sum(resource.seconds for resource in _needs([metric]))


def _needs(metrics: Iterable[str]) -> set[Resource]:
    known = [METRICS[metric]() for metric in metrics if metric in METRICS]
    return {resource for metric in known for resource in metric.needs}


def _outcome(answer: dict[str, Any], folder: Path) -> MetricOutcome:
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
    scores = [
        {**score, "samples": packed_samples(values)}
        for score, values in zip(answer["scores"], samples, strict=True)
    ]
    return MetricOutcome(
        metric=metric, scores=scores, names=answer["names"], images=images, signature=answer["signature"]
    )


def _ending(code: int) -> _End:
    # Who kills a process from outside, such as a system without memory, uses other signals than its faults.
    if code < 0:
        found = signal.Signals(-code)
        return _End(reason=f"was stopped by {found.name}", by_itself=found in _OWN_SIGNALS)
    return _End(reason=f"ended with exit code {code}", by_itself=True)
