"""METEOR under pycocoevalcap's name, without Java."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence

from capeval.compat.scoring import Scorer
from capeval.metrics import meteor
from capeval.scoring.report import Report

__all__ = ["Meteor"]


class _Pipe:
    """Has what scripts do with a pipe of Java's process to end it."""

    def close(self) -> None:
        """Does nothing: there is no process."""

    def flush(self) -> None:
        """Does nothing: there is no process."""


class _NoProcess:
    """Has what scripts do with Java's process to end it, and has ended."""

    returncode = 0

    def __init__(self) -> None:
        self.stdin = self.stdout = self.stderr = _Pipe()

    def kill(self) -> None:
        """Does nothing: there is no process."""

    terminate = kill

    def wait(self, timeout: float | None = None) -> int:  # noqa: ARG002
        """The return code."""
        return self.returncode

    def poll(self) -> int:
        """The return code."""
        return self.returncode


class Meteor(Scorer):
    """METEOR 1.5 with normalization, for English.

    Attributes:
        lock: A lock for scripts that take it; scoring doesn't need it.
        meteor_p: Stands for Java's process, which scripts end: there is none, so ending it does nothing.
    """

    _name = "METEOR"

    def __init__(self) -> None:
        super().__init__(meteor.Meteor())
        self.lock = threading.Lock()
        self.meteor_p = _NoProcess()

    def result(self, report: Report, images: list[Hashable]) -> tuple[float, list[float]]:  # noqa: ARG002
        """The corpus score and those of the images, as `float`."""
        return report.corpus["METEOR"], report.per_image["METEOR"].tolist()

    def _score(self, hypothesis_str: str, reference_list: Sequence[str]) -> float:
        """METEOR of one caption."""
        score, _ = self.compute_score({0: list(reference_list)}, {0: [hypothesis_str]})
        return float(score)

    def close(self) -> None:
        """Does nothing: there is no process to end."""
