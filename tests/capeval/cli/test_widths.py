"""Widths of help and tables: the terminal's, and 80 columns without a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from capeval.resources.compiled_files import CACHE
from tests.capeval.cli.test_cli import output


def run_in_terminal(columns: int, *arguments: str, **variables: str) -> list[str]:
    """Run a command in a terminal; return the lines of its output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {"TERM": "dumb", **variables}
    command = [sys.executable, "-m", "capeval", *arguments]
    shown = b""
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(theirs)
        # The end of a terminal's output is an error on Linux.
        with suppress(OSError):
            while part := os.read(ours, 100_000):
                shown += part
    os.close(ours)
    assert process.returncode == 0
    return shown.decode().splitlines()


def measure_help(lines: list[str]) -> int:
    """Return the longest line before the examples, which are not wrapped so that they can be copied."""
    end = lines.index("  Examples:") if "  Examples:" in lines else len(lines)
    return max(map(len, lines[:end]))


@pytest.mark.parametrize("command", ["", "score", "verify", "resources spice", "study consensus"])
def test_help_is_as_wide_as_the_terminal(command: str) -> None:
    arguments = (*command.split(), "--help")
    widths = {columns: measure_help(run_in_terminal(columns, *arguments)) for columns in (60, 80, 120, 300)}
    assert widths[60] <= 60 < widths[80] <= 80 < widths[120] <= 110
    assert widths[300] == widths[120]
    assert measure_help(output(*arguments, env={**os.environ, "COLUMNS": "120"}).splitlines()) <= 80


@pytest.mark.parametrize("cache", ["full", "empty"])
def test_resources_fit_80_columns(cache: str, tmp_path: Path) -> None:
    variables = {} if cache == "full" else {CACHE: str(tmp_path), "CAPEVAL_STORE": "off"}
    lines = run_in_terminal(80, "resources", **variables)
    header, _, *rows = lines[: lines.index("")]
    assert header.split() == ["Resource", "Status", "Size", "Fingerprint"]
    assert len(rows) == 3
    assert max(map(len, (header, *rows))) <= 80
    assert all(path.startswith("~") for path in re.findall(r": (\S*/\.cache/\S*)", "\n".join(lines)))


def test_tables_fit_80_columns(tmp_path: Path) -> None:
    references = {image: [f"a man on horse number {image}", "a brown horse"] for image in range(1, 7)}
    subsets = {"in-domain": [1, 2], "near-domain": [3, 4], "out-of-domain": [5, 6]}
    files = {"references": references, "domains": subsets}
    files |= {name: {image: f"a man on the horse {image}" for image in references} for name in ("a", "b")}
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    paths = [str(tmp_path / f"{name}.json") for name in ("references", "a", "b")]
    options = ["--bootstrap", "--samples", "10", "--subset", str(tmp_path / "domains.json")]
    for command in (["score", *paths], ["score", *paths, *options], ["compare", *paths, "--samples", "10"]):
        lines = run_in_terminal(80, *command)
        tables = [line for line in lines if "   " in line or "─" in line]
        assert len(tables) > 3
        assert all(len(line) <= 80 for line in tables), command
