"""Print the share of lines of each distribution that the gate's tests execute.

With `COVERAGE=build/coverage.json`, `make test` runs the tests with SlipCover, which writes the file.
`make test-system` and `make coverage` run this script.
Lines that only child processes of the tests execute are not counted, so the shares are lower bounds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

__all__ = ["DISTRIBUTIONS", "compute_shares", "main"]

DISTRIBUTIONS = {"src/": "capeval", "server/src/": "capeval-server", "decoding/src/": "capeval-decoding"}
"""Distribution by the folder of its sources."""


def compute_shares(coverage: dict[str, dict[str, dict[str, list[int]]]]) -> dict[str, tuple[int, int]]:
    """Return the numbers of executed lines and of all lines of each distribution.

    Args:
        coverage: SlipCover's JSON, which has the lines of each file under `files`.
    """
    executed: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path, file in coverage["files"].items():
        for folder, name in DISTRIBUTIONS.items():
            if path.startswith(folder):
                executed[name] += len(file["executed_lines"])
                lines[name] += len(file["executed_lines"]) + len(file["missing_lines"])
    return {name: (executed[name], lines[name]) for name in DISTRIBUTIONS.values() if lines[name]}


def main(arguments: list[str] | None = None) -> None:
    """Print one line per distribution, or a note if there is no such file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="SlipCover's JSON")
    path = parser.parse_args(arguments).file
    if not path.is_file():
        sys.stdout.write(f"No coverage: {path} does not exist. `make test COVERAGE={path}` writes it.\n")
        return
    shares = compute_shares(json.loads(path.read_text(encoding="utf-8")))
    sys.stdout.writelines(
        f"{name:<17} {100 * executed / lines:5.1f} % of {lines:,} lines executed by the gate's tests\n"
        for name, (executed, lines) in shares.items()
    )


if __name__ == "__main__":
    main()
