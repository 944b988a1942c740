"""Drive METEOR 1.5 (Java) exactly as pycocoevalcap 1.2 drives it, in bulk.

Lines are framed as in ``pycocoevalcap.meteor.meteor.Meteor`` (``SCORE ||| references ||| candidate``,
then one ``EVAL`` line over all statistics), but written by a thread of their own, so that a whole
set goes through the pipe without waiting for each answer.
"""

from __future__ import annotations

import importlib.util
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

COMMAND = ["java", "-jar", "-Xmx2G", "meteor-1.5.jar", "-", "-", "-stdio", "-l", "en", "-norm"]


def command_of(language: str) -> list[str]:
    """Return the command for a language without paraphrases in pycocoevalcap."""
    modules = "exact" if language == "cs" else "exact stem"
    return [*COMMAND[:-3], "-l", language, "-lower", "-m", modules]


@dataclass(frozen=True, kw_only=True)
class JavaScores:
    """Results of the Java reference: statistics and score per segment, and the corpus score."""

    statistics: list[str]
    scores: list[float]
    corpus: float


def meteor_directory() -> Path:
    """The directory of pycocoevalcap that holds ``meteor-1.5.jar`` and ``data/``."""
    spec = importlib.util.find_spec("pycocoevalcap")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(
            "the conformance run needs pycocoevalcap 1.2 installed, found no such package"
        )
    return Path(spec.submodule_search_locations[0]) / "meteor"


def score_line(candidate: str, references: Sequence[str]) -> str:
    """The line pycocoevalcap writes for one segment."""
    cleaned = candidate.replace("|||", "").replace("  ", " ")
    return " ||| ".join(("SCORE", " ||| ".join(references), cleaned))


class JavaMeteor:
    """One running METEOR process."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=meteor_directory(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> JavaMeteor:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()

    def _exchange(self, lines: Sequence[str], answers: int) -> list[str]:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the METEOR process has no pipes")

        def write() -> None:
            stdin.write("".join(f"{line}\n" for line in lines).encode())
            stdin.flush()

        writer = threading.Thread(target=write)
        writer.start()
        replies = [stdout.readline().decode().strip() for _ in range(answers)]
        writer.join()
        return replies

    def score(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> JavaScores:
        """Score one set; ``references[i]`` belong to ``candidates[i]``."""
        lines = [score_line(c, r) for c, r in zip(candidates, references, strict=True)]
        statistics = self._exchange(lines, len(lines))
        evaluate = "EVAL" + "".join(f" ||| {line}" for line in statistics)
        numbers = [float(line) for line in self._exchange([evaluate], len(lines) + 1)]
        return JavaScores(statistics=statistics, scores=numbers[:-1], corpus=numbers[-1])
