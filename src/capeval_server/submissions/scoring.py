"""Scoring in child processes: what one metric does to its process, the other metrics survive."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from django.conf import settings

__all__ = ["Outcome", "ScoringError", "score"]


class ScoringError(Exception):
    """Scoring could not start, through no fault of a metric; the message is for the log alone."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one metric gave.

    Attributes:
        metric: The metric.
        scores: Its numbers: subset, name, value, low and high.
        signature: What they depend on.
        failure: Why there are none, for the submitter.
        log: Why there are none, in full.
    """

    metric: str
    scores: Sequence[Mapping[str, Any]] = field(default=())
    signature: str = ""
    failure: str = ""
    log: str = ""


def score(
    references: Path,
    candidates: Path,
    metrics: Sequence[str],
    subsets: Mapping[str, Sequence[int | str]],
    alive: Callable[[], None],
) -> list[Outcome]:
    """Scores a file of results with several metrics.

    Args:
        references: The file of references.
        candidates: The file of results.
        metrics: The metrics, by name.
        subsets: Subsets of the images to score too.
        alive: Called every now and then while scoring goes on; what it raises ends the scoring.

    Returns:
        The outcome of each metric, in order.

    Raises:
        ScoringError: The process could not start or read its files.
    """
    job = {
        "references": str(references),
        "candidates": str(candidates),
        "subsets": subsets,
        "samples": settings.BOOTSTRAP_SAMPLES,
        "memory": settings.MEMORY_BYTES,
    }
    outcomes: list[Outcome] = []
    while len(outcomes) < len(metrics):
        # A process that ended within a metric costs that metric alone: another goes on with the next.
        with tempfile.TemporaryFile() as errors, _child(errors) as child:
            outcomes += _of_child(child, errors, {**job, "metrics": metrics[len(outcomes) :]}, alive)
    return outcomes


@contextmanager
def _child(errors: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(
        [sys.executable, "-m", "capeval_server.submissions.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
    )
    try:
        yield child
    finally:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()


def _of_child(
    child: subprocess.Popen[bytes], errors: IO[bytes], job: dict[str, Any], alive: Callable[[], None]
) -> list[Outcome]:
    """What a child did before it ended, the metric that it ended in included."""
    outcomes: list[Outcome] = []
    started: str | None = None
    for line in _lines(child, job, alive):
        if isinstance(line, str):
            if started is None:
                raise ScoringError(f"scoring {line} before its first metric\n{_tail(errors)}")
            outcomes.append(Outcome(metric=started, failure=f"{started} {line}", log=_tail(errors)))
            return outcomes
        if "started" in line:
            started = line["started"]
        elif "failure" in line:
            name = line["finished"]
            failure = f"{name} could not be computed ({line['failure']})"
            outcomes.append(Outcome(metric=name, failure=failure, log=line["log"]))
        elif "finished" in line:
            outcomes.append(
                Outcome(metric=line["finished"], scores=line["scores"], signature=line["signature"])
            )
    return outcomes


def _lines(
    child: subprocess.Popen[bytes], job: dict[str, Any], alive: Callable[[], None]
) -> Iterator[dict[str, Any] | str]:
    """The answers of a child until all is done; or, at last, what it ended of."""
    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_read, args=(child, lines), daemon=True).start()
    assert child.stdin is not None  # noqa: S101 - it was opened as a pipe.
    try:
        child.stdin.write(json.dumps(job).encode() + b"\n")
        child.stdin.flush()
    except BrokenPipeError:
        yield "ended"
        return
    left = len(job["metrics"])
    deadline = time.monotonic() + settings.METRIC_SECONDS
    while left:
        try:
            line = lines.get(timeout=settings.LEASE_SECONDS / 4)
        except queue.Empty:
            line = None
        alive()
        if line == b"":
            yield _ending(child.wait())
            return
        if line is not None:
            answer = json.loads(line)
            left -= "finished" in answer
            deadline = time.monotonic() + settings.METRIC_SECONDS
            yield answer
        elif time.monotonic() > deadline:
            yield f"took longer than {settings.METRIC_SECONDS} s"
            return


def _read(child: subprocess.Popen[bytes], lines: queue.Queue[bytes]) -> None:
    assert child.stdout is not None  # noqa: S101 - it was opened as a pipe.
    try:
        for line in child.stdout:
            lines.put(line)
    except ValueError:
        # Closed while it was read: nobody listens any more.
        return
    lines.put(b"")


def _ending(code: int) -> str:
    return f"was stopped by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _tail(errors: IO[bytes]) -> str:
    errors.seek(0, 2)
    errors.seek(max(errors.tell() - 10_000, 0))
    return errors.read().decode("utf-8", "replace")
