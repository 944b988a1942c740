"""The one place that knows how the conformance runs reach capeval's METEOR.

For now through the example programs of the Rust crate, built by cargo.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.conformance.meteor.java_meteor import meteor_directory

ROOT = Path(__file__).resolve().parents[3]
TABLES = ROOT / "target" / "meteor-conformance.tables"


@dataclass(frozen=True, kw_only=True)
class OurScores:
    """One row of statistics and one score a segment, and the corpus score."""

    statistics: list[list[float]]
    scores: list[float]
    corpus: float


def _example(name: str, *arguments: str | Path) -> str:
    command = ["cargo", "run", "--quiet", "--release", "-p", "capeval-metrics", "--example", name, "--"]
    answer = subprocess.run(
        [*command, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise RuntimeError(f"example {name} failed: {answer.stderr}")
    return answer.stdout


def compile_tables(sources: Path, paraphrases: Path, output: Path) -> Path:
    """Compile the tables from an unpacked METEOR jar and a paraphrase file."""
    _example("meteor_compile", sources, paraphrases, output)
    return output


@cache
def tables() -> Path:
    """METEOR's own tables, compiled anew for this process."""
    directory = meteor_directory()
    with tempfile.TemporaryDirectory() as unpacked, zipfile.ZipFile(directory / "meteor-1.5.jar") as jar:
        jar.extractall(unpacked)
        return compile_tables(Path(unpacked), directory / "data" / "paraphrase-en.gz", TABLES)


def score(
    candidates: Sequence[str], references: Sequence[Sequence[str]], table: Path | None = None
) -> OurScores:
    """Score one set; ``references[i]`` belong to ``candidates[i]``. Texts must not hold tabs or line ends."""
    lines = ["\t".join([c, *r]) for c, r in zip(candidates, references, strict=True)]
    if any(end in line for line in lines for end in "\n\r"):
        raise ValueError("expected captions of one line each")
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8", newline="\n") as file:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()
        first, *rows = _example("meteor_score", table or tables(), file.name).splitlines()
    pairs = [row.split("\t") for row in rows]
    return OurScores(
        statistics=[json.loads(statistics) for statistics, _ in pairs],
        scores=[float(value) for _, value in pairs],
        corpus=float(first),
    )


def reference_statistics(line: str) -> list[float]:
    """A statistics line of METEOR as capeval counts it.

    The chunk of a segment that matches in full in one chunk is left out, since METEOR leaves it out
    of its sums.
    """
    row = [float(number) for number in line.split()]
    if row[20] == 1 and sum(row[4:20:2]) == row[0] and sum(row[5:20:2]) == row[1]:
        row[20] = 0.0
    return row
