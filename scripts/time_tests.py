"""Test times per folder and of the slowest files, from a JUnit XML file.

Run `pytest --junit-xml report.xml` first. Times of parallel processes are added. The set-up time of a fixture
counts toward the first test that uses it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from scripts.source_tree import format_table, make_parser, write_report

__all__ = ["get_file", "main", "measure"]


def get_file(class_name: str) -> str:
    """Return the file of a class name such as `tests.unit.test_a.TestWords`."""
    parts = class_name.split(".")
    modules = [number for number, part in enumerate(parts) if part.startswith("test_")]
    return "/".join(parts[: modules[0] + 1] if modules else parts) + ".py"


def measure(report: Path, slowest: int = 30) -> dict[str, Any]:
    """Return the seconds and number of tests per folder, and of the slowest files.

    Raises:
        ValueError: The file is not JUnit XML, or contains no tests.
    """
    try:
        tree = ElementTree.parse(report)  # noqa: S314 (the developer's own test run wrote it)
    except ElementTree.ParseError as error:
        raise ValueError(f"{report} is not a JUnit XML file: {error}") from error
    times: defaultdict[str, list[float]] = defaultdict(list)
    for case in tree.iter("testcase"):
        times[get_file(case.get("classname") or case.get("name") or "")].append(float(case.get("time", 0)))
    if not times:
        raise ValueError(f"{report} contains no tests; write it with: pytest --junit-xml {report}")
    folders: defaultdict[str, list[float]] = defaultdict(list)
    for file, seconds in times.items():
        folders[file.rpartition("/")[0]] += seconds
    return {
        "seconds": round(sum(map(sum, times.values())), 1),
        "tests": sum(map(len, times.values())),
        "folders": _make_rows("folder", folders),
        "files": _make_rows("file", times)[:slowest],
    }


def _make_rows(key: str, times: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    """Return one row per name, slowest first."""
    ordered = sorted(times.items(), key=lambda item: (-sum(item[1]), item[0]))
    return [
        {key: name, "tests": len(seconds), "seconds": round(sum(seconds), 1)} for name, seconds in ordered
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the times."""
    parser = make_parser("time_tests", __doc__)
    parser.add_argument("report", type=Path, help="JUnit XML file of pytest, such as report.xml")
    parser.add_argument("--slowest", type=int, default=30, help="number of files to list (default: 30)")
    options = parser.parse_args(arguments)
    try:
        report = measure(options.report, options.slowest)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    tables = f"{format_table(report['folders'])}\n{format_table(report['files'])}"
    text = f"{report['tests']:,} tests in {report['seconds']:,} s\n\n{tables}"
    write_report(report, text, as_json=options.json)


if __name__ == "__main__":
    main()
