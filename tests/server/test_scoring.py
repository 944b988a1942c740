"""Scoring in child processes that are stopped, killed or can't start."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from capeval_server.examples import write_example
from capeval_server.submissions.scoring import ScoringError, score
from tests.server.conftest import results

METRICS = ["BLEU", "METEOR", "ROUGE-L", "CIDEr-D"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    write_example("small", tmp_path)
    (tmp_path / "results.json").write_bytes(results())
    return tmp_path / "references_c2.json", tmp_path / "results.json"


class Disturbance:
    """Sends a signal to the first child, as soon as it has started with its first metric."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        # The first answer says that files are read, the second that the first metric started.
        if self.calls == 2:
            parent = str(os.getpid())
            listed = subprocess.run(
                ["pgrep", "-P", parent, "-f", "submissions.child"], capture_output=True, text=True, check=True
            )
            (child,) = listed.stdout.split()
            os.kill(int(child), self.number)


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGKILL, "was stopped by SIGKILL"), (signal.SIGSTOP, "took longer than 5 s")],
)
def test_a_metric_that_ends_its_process_fails_alone(
    files: tuple[Path, Path], settings: Any, number: signal.Signals, reason: str
) -> None:
    settings.METRIC_SECONDS, settings.LEASE_SECONDS = 5, 4
    outcomes = score(*files, METRICS, {}, Disturbance(number))
    assert [outcome.metric for outcome in outcomes] == METRICS
    (failed,) = [outcome for outcome in outcomes if outcome.failure]
    assert failed.failure == f"{failed.metric} {reason}"
    assert all(outcome.scores for outcome in outcomes if outcome is not failed)


def test_files_that_are_gone_are_the_systems_fault(files: tuple[Path, Path]) -> None:
    with pytest.raises(ScoringError, match=r"(?s)exit code 1 before its first metric.*No such file"):
        score(files[0], files[1].with_name("gone.json"), METRICS, {}, lambda: None)
