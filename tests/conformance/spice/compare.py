"""Compares every stage of SPICE with its reference on as many captions as asked.

::

    python -m tests.conformance.spice.compare --captions 2000 --seed 1
    python -m tests.conformance.spice.compare --rows rows.jsonl.gz
    python -m tests.conformance.spice.compare --write-golden

It prints how many captions are equal at each stage, and each that is not. Java makes some 10 to 20 captions a
second on one core.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from os import sched_getaffinity
from pathlib import Path
from typing import Any

from tests.conformance.spice import java
from tests.conformance.spice.captions import UNUSUAL, captions
from tests.conformance.spice.stages import Agreement, Row, compare, read_rows

OWN, GOLDEN = (Path(__file__).with_name(name) for name in ("own.txt", "golden.jsonl"))
_CHUNK = 1000


def compare_with_java(texts: Sequence[str], rows: Path | None) -> Agreement:
    """Run Java and capeval on captions; add Java's rows to a file if one is given."""
    agreement = Agreement()
    chunks = [texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK)]
    with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
        for made in pool.map(java.stages, chunks):
            if rows is not None:
                with gzip.open(rows, "at", encoding="utf-8") as file:
                    file.writelines(json.dumps(row) + "\n" for row in made)
            compare(made, agreement)
            print(agreement, flush=True)
    return agreement


def own_images() -> list[dict[str, Any]]:
    """Captions written for these tests: of each image a candidate, then references."""
    groups = OWN.read_text(encoding="utf-8").strip().split("\n\n")
    return [{"test": first, "refs": rest} for first, *rest in (group.split("\n") for group in groups)]


def golden_captions() -> list[str]:
    """The captions of these images, and unusual ones."""
    return [str(text) for image in own_images() for text in (image["test"], *image["refs"])] + [*UNUSUAL]


def write_golden() -> None:
    """Write the Java results for the captions of these tests."""
    version = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    about = {
        "tool": "SPICE 1.0 (pycocoevalcap 1.2) with CoreNLP 3.6.0, run by Driver.java",
        "java": version.splitlines()[0],
        "command": "python -m tests.conformance.spice.compare --write-golden",
    }
    rows: list[Row] = [about, *java.stages(golden_captions()), *java.counts(own_images())]
    GOLDEN.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="ascii")


def report(agreement: Agreement) -> int:
    """Print counts and differences; return the exit code."""
    for stage, caption in agreement.different:
        print(f"different {stage}: {caption!r}")
    for caption, error in agreement.failed:
        print(f"Java failed: {caption!r}: {error}")
    print(agreement)
    return 1 if agreement.different else 0


def main() -> int:
    """Compare captions; the exit code reports whether any differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--captions", type=int, default=2000, help="how many captions to make")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="add Java's rows to this file (.jsonl.gz)")
    parser.add_argument("--rows", type=Path, nargs="+", help="compare with rows that Java made before")
    parser.add_argument("--write-golden", action="store_true", help="regenerate golden.jsonl")
    arguments = parser.parse_args()
    if arguments.write_golden:
        write_golden()
        return 0
    if arguments.rows is None:
        return report(compare_with_java(captions(arguments.captions, arguments.seed), arguments.keep))
    agreement = Agreement()
    for path in arguments.rows:
        compare(read_rows(path), agreement)
    return report(agreement)


if __name__ == "__main__":
    sys.exit(main())
