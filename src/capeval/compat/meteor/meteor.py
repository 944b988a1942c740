"""METEOR under pycocoevalcap's name, without Java."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence

from capeval.compat.scoring import Scorer
from capeval.metrics import meteor
from capeval.scoring.report import Report

__all__ = ["Meteor"]


class _Pipe:
    """Stand-in for a pipe of the Java process, for scripts that end it."""

    def close(self) -> None:
        """Do nothing: there is no process."""

    def flush(self) -> None:
        """Do nothing: there is no process."""


class _NoProcess:
    """Stand-in for the Java process, already ended, for scripts that end it."""

    returncode = 0

    def __init__(self) -> None:
        self.stdin = self.stdout = self.stderr = _Pipe()

    def kill(self) -> None:
        """Do nothing: there is no process."""

    terminate = kill

    def wait(self, timeout: float | None = None) -> int:  # noqa: ARG002
        """Return the return code."""
        return self.returncode

    def poll(self) -> int:
        """Return the return code."""
        return self.returncode


class Meteor(Scorer):
    """METEOR 1.5 with normalization, for English.

    Attributes:
        lock: A lock for scripts that acquire it; scoring does not use it.
        meteor_p: A stand-in for the Java process, for scripts that end it; ending it has no effect.
    """

    _name = "METEOR"

    def __init__(self) -> None:
        super().__init__(meteor.Meteor())
        self.lock = threading.Lock()
        self.meteor_p = _NoProcess()

    def result(self, report: Report, images: list[Hashable]) -> tuple[float, list[float]]:  # noqa: ARG002
        """Return the corpus score and the scores of the images, as `float`."""
        return report.corpus["METEOR"], report.per_image["METEOR"].tolist()

    def _score(self, hypothesis_str: str, reference_list: Sequence[str]) -> float:
        """Return METEOR of one caption."""
        score, _ = self.compute_score({0: list(reference_list)}, {0: [hypothesis_str]})
        return float(score)

    def close(self) -> None:
        """Do nothing: there is no process to end."""
