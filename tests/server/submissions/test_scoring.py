"""Scoring in child processes that are stopped, killed or can't start."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capeval
from capeval.metrics.registry import get_metric
from capeval.scoring.significance import bootstrap, resample
from capeval_server.examples import write_example
from capeval_server.submissions.scoring import pipeline
from capeval_server.submissions.scoring.pipeline import (
    MetricOutcome,
    MetricProgress,
    ScoringError,
    ScoringRequest,
    SubmissionScorer,
    _Child,
    _End,
)
from tests.server.kit import METRICS, results


class Files:
    """The small example's references and a file of results, and how often the references were asked for."""

    def __init__(self, folder: Path) -> None:
        write_example("small", folder)
        self.folder = folder
        self.candidates = folder / "results.json"
        self.candidates.write_bytes(results())
        self.asked = 0

    def references(self, _: Path) -> Path:
        self.asked += 1
        return self.folder / "references_c2.json"

    def task(self, key: int = 1, **changes: Any) -> ScoringRequest:
        given = {"references": self.references, "candidates": self.candidates, "metrics": METRICS, **changes}
        return ScoringRequest(key=key, folder=self.folder, **given)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def scorer() -> Iterator[SubmissionScorer]:
    with SubmissionScorer() as made:
        yield made


def children() -> list[int]:
    """The processes that score for this one."""
    command = ["pgrep", "-P", str(os.getpid()), "-f", "submissions.scoring.child_process"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    return [int(process) for process in listed.stdout.split()]


# Python runs this first in each process that scores: ROUGE-L, the first time, does something, when it
# prepares the references or when it scores candidates.
DISTURBANCE = """
import os, signal, sys
from pathlib import Path
if "capeval_server.submissions.scoring.child_process" in sys.orig_argv:
    from capeval.metrics.registry import get_metric
    metric, place = type(get_metric("ROUGE-L")), Path({place!r})
    kernel = metric.kernel
    def disturb():
        if not place.exists():
            place.touch()
            {does}
    def disturbed(*given, **named):
        if {step!r} == "references":
            disturb()
        count = kernel(*given, **named)
        def disturbed_count(*given, **named):
            disturb()
            return count(*given, **named)
        return disturbed_count
    metric.kernel = disturbed
"""


class Clock:
    """A clock that jumps ahead by an hour whenever it finds a stopped scoring process."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def look(self) -> None:
        states = [
            Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] for child in children()
        ]
        if "T" in states:
            self.ahead += 3600.0


def scored(outcomes: list[MetricOutcome]) -> None:
    assert [outcome.metric for outcome in outcomes] == METRICS
    assert all(outcome.scores and not outcome.failure for outcome in outcomes)


# What ROUGE-L does, why it fails then, and whether candidates are at fault if it does so when it scores them.
FAILURES = {
    "os.kill(os.getpid(), signal.SIGKILL)": ("was stopped by SIGKILL", False),
    "os.kill(os.getpid(), signal.SIGSEGV)": ("was stopped by SIGSEGV", True),
    "os.kill(os.getpid(), signal.SIGSTOP)": ("took longer than 600 s", True),
    "raise ValueError": ("could not be computed (ValueError)", True),
    "raise OSError": ("could not be computed (OSError)", False),
}


@pytest.mark.parametrize("does", FAILURES)
@pytest.mark.parametrize("step", ["references", "candidates"])
def test_a_metric_that_fails_or_ends_its_process_fails_alone(
    files: Files,
    scorer: SubmissionScorer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    does: str,
    step: str,
) -> None:
    (tmp_path / "first").mkdir()
    disturbance = DISTURBANCE.format(place=str(tmp_path / "was there"), does=does, step=step)
    (tmp_path / "first" / "sitecustomize.py").write_text(disturbance)
    path = [str(tmp_path / "first"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    clock = Clock()
    monkeypatch.setattr(pipeline, "time", clock)
    outcomes = scorer.score(files.task(), clock.look)
    assert [outcome.metric for outcome in outcomes] == METRICS
    (failed,) = [outcome for outcome in outcomes if outcome.failure]
    reason, by_content = FAILURES[does]
    assert failed.failure == f"ROUGE-L {reason}"
    # Failures before the candidates are read are not attributed to them.
    assert failed.by_content == (by_content and step == "candidates")
    assert all(outcome.scores for outcome in outcomes if outcome is not failed)


def test_long_work_of_a_metric_is_reported(
    files: Files, scorer: SubmissionScorer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first").mkdir()
    does = (
        "from capeval._internal.progress import report_progress; report_progress('Parsing captions', 3.7, 12)"
    )
    disturbance = DISTURBANCE.format(place=str(tmp_path / "was there"), does=does, step="candidates")
    (tmp_path / "first" / "sitecustomize.py").write_text(disturbance)
    path = [str(tmp_path / "first"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    told: list[MetricProgress] = []
    scored(scorer.score(files.task(report=told.append), lambda: None))
    assert [one.metric for one in told if not one.work] == METRICS
    assert [one for one in told if one.work] == [
        MetricProgress(metric="ROUGE-L", work="Parsing captions", work_done=3, work_total=12)
    ]


def test_a_process_that_ends_between_metrics_costs_none(
    files: Files, scorer: SubmissionScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[_Child] = []
    answers = _Child._lines

    def until_the_first_is_done(child: _Child, *about: Any) -> Iterator[dict[str, Any] | _End]:
        for answer in answers(child, *about):
            yield answer
            if isinstance(answer, dict) and "finished" in answer and not ended:
                ended.append(child)
                os.kill(child._process.pid, signal.SIGKILL)
                yield _End(reason="was stopped by SIGKILL", by_itself=False)
                return

    monkeypatch.setattr(_Child, "_lines", until_the_first_is_done)
    outcomes = scorer.score(files.task(), lambda: None)
    assert ended
    scored(outcomes)


def test_files_that_are_gone_are_the_systems_fault(files: Files, scorer: SubmissionScorer) -> None:
    with pytest.raises(ScoringError, match=r"(?s)exit code 1 before its first metric.*No such file"):
        scorer.score(files.task(candidates=files.folder / "gone.json"), lambda: None)
    assert not children()


def test_scores_are_those_of_capeval(files: Files, scorer: SubmissionScorer, settings: Any) -> None:
    images = [6, 5, 4, 3, 2, 1]
    subsets = {"animals": [2, 1], "things": [3, 4, 5, 6]}
    references = capeval.load_references(files.references(files.folder))
    candidates = capeval.load_candidates(files.candidates)
    for outcome in scorer.score(files.task(subsets=subsets, images=images), lambda: None):
        report = capeval.evaluate(references, candidates, [outcome.metric], subsets=subsets)
        assert list(outcome.names) == list(report.corpus)
        assert outcome.signature == str(*report.signatures.values())
        found = {(score["subset"], score["name"]): score for score in outcome.scores}
        for subset, members in {"": images, **subsets}.items():
            values = report.subsets[subset] if subset else report.corpus
            intervals = bootstrap(report, samples=settings.BOOTSTRAP_SAMPLES, images=members)
            for name, one in resample(report, samples=settings.BOOTSTRAP_SAMPLES, images=members).items():
                score = found.pop((subset, name))
                interval = intervals[name]
                assert (score["value"], score["low"], score["high"]) == (
                    values[name],
                    interval.low,
                    interval.high,
                )
                assert score["samples"] == one.values.astype("<f4").tobytes()
        assert not found
        swaps = [(each["subset"], each["images"]) for each in outcome.swaps]
        assert swaps == [("", 6), ("animals", 2), ("things", 4)]
        assert outcome.images is not None
        for i, name in enumerate(outcome.names):
            np.testing.assert_array_equal(outcome.images[::-1, i], report.per_image[name])


# Python runs this first in each scoring process, to record the tokenized texts.
COUNTED = """
import sys
if "capeval_server.submissions.scoring.child_process" in sys.orig_argv:
    from capeval import tokenizers
    for kind in (tokenizers.TokenizedReferences, tokenizers.TokenizedCandidates):
        def counted(self, *given, made=kind.__init__):
            with open({place!r}, "a") as file:
                print(type(self).__name__, file=file)
            made(self, *given)
        kind.__init__ = counted
"""


def test_a_file_is_tokenized_once_for_all_metrics(
    files: Files, scorer: SubmissionScorer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "sitecustomize.py").write_text(COUNTED.format(place=str(tmp_path / "made")))
    path = [str(tmp_path / "first"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    for _ in range(2):
        scored(scorer.score(files.task(), lambda: None))
    assert (tmp_path / "made").read_text().split() == [
        "TokenizedReferences",
        "TokenizedCandidates",
        "TokenizedCandidates",
    ]


def test_prepared_references_stay_for_the_next(files: Files, scorer: SubmissionScorer) -> None:
    first = scorer.score(files.task(), lambda: None)
    (child,) = children()
    second = scorer.score(files.task(), lambda: None)
    assert children() == [child]
    assert files.asked == 1
    assert first == second
    scored(second)
    assert second[0].images is None


def test_only_the_last_used_are_kept(files: Files, settings: Any) -> None:
    settings.PREPARED = 2
    with SubmissionScorer() as scorer:
        for key, asked in ((1, 1), (2, 2), (1, 2), (3, 3), (1, 3), (2, 4)):
            scored(scorer.score(files.task(key), lambda: None))
            assert files.asked == asked
            assert len(children()) == min(asked, 2)
    assert not children()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_idle_process_that_ended_costs_nothing(
    files: Files, scorer: SubmissionScorer, number: signal.Signals
) -> None:
    scorer.score(files.task(), lambda: None)
    (child,) = children()
    os.kill(child, number)
    scored(scorer.score(files.task(), lambda: None))
    assert files.asked == 2


def peak(scorer: SubmissionScorer, task: ScoringRequest) -> int:
    """Return the peak address space of a process for a task, in bytes."""
    assert all(outcome.scores for outcome in scorer.score(task, lambda: None))
    status = Path(f"/proc/{max(children())}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmPeak:")]
    return int(line.split()[1]) * 1024


def test_a_metric_that_needs_too_much_memory_fails_alone(
    files: Files, scorer: SubmissionScorer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Threads that allocate at once get arenas of 64 MiB of addresses each, more than what is compared here.
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    others = [metric for metric in METRICS if metric != "METEOR"]
    before, after = peak(scorer, files.task(1, metrics=others)), peak(scorer, files.task(2))
    # METEOR's tables are large.
    assert after - before > 5_000_000
    # The limit adds what the tables take, which makes room for them.
    tables = sum(resource.memory for resource in get_metric("METEOR").resources)
    assert after - before < tables
    settings.MEMORY_BYTES = (before + after) // 2 - tables
    outcomes = scorer.score(files.task(3), lambda: None)
    assert [outcome.metric for outcome in outcomes if outcome.scores] == others, outcomes
    assert not outcomes[1].by_content
    assert outcomes[1].failure.startswith(("METEOR could not be computed (", "METEOR was stopped by SIGABRT"))
    # The process in which it failed is not kept.
    settings.MEMORY_BYTES = 2**32
    scored(scorer.score(files.task(3), lambda: None))


def test_a_metric_with_resources_gets_time_for_them(settings: Any) -> None:
    (tables,) = get_metric("METEOR").resources
    assert pipeline.time_limit("BLEU") == settings.METRIC_SECONDS
    assert pipeline.time_limit("METEOR") == settings.METRIC_SECONDS + tables.seconds


def test_only_a_metric_with_resources_gets_room_for_them(
    files: Files, scorer: SubmissionScorer, settings: Any
) -> None:
    def limit() -> int:
        (process,) = children()
        lines = Path(f"/proc/{process}/limits").read_text().splitlines()
        (line,) = [line for line in lines if line.startswith("Max address space")]
        return int(line.split()[3])

    tables = sum(resource.memory for resource in get_metric("METEOR").resources)
    scorer.score(files.task(metrics=["BLEU"]), lambda: None)
    assert limit() == settings.MEMORY_BYTES
    before = children()
    scorer.score(files.task(metrics=["BLEU", "METEOR"]), lambda: None)
    assert limit() == settings.MEMORY_BYTES + tables
    # The tables stay in memory, for the next job with METEOR.
    scorer.score(files.task(metrics=["BLEU"]), lambda: None)
    assert limit() == settings.MEMORY_BYTES + tables
    assert children() == before


def test_scoring_that_is_given_up_leaves_no_process(files: Files, scorer: SubmissionScorer) -> None:
    class GivenUpError(Exception):
        pass

    answers = iter(range(3))

    def alive() -> None:
        if next(answers) == 2:
            raise GivenUpError

    with pytest.raises(GivenUpError):
        scorer.score(files.task(), alive)
    assert not children()
    scored(scorer.score(files.task(), lambda: None))
