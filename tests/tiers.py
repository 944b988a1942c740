"""Tiers of the test suite: the gate (`make test`) and the system tests (`make test-system`).

`tests/system_tests.toml` lists the system tests. All others belong to the gate, which needs no Maven and, of
Debian's packages, only Chromium.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.spice_model import NEEDS_MODEL

__all__ = ["assign_tiers", "fail_on_skips"]

TABLE = Path(__file__).with_name("system_tests.toml")
# Fixtures that start servers, databases or browsers, and the one module of the gate that may use them.
_SYSTEM_FIXTURES = frozenset({"browser", "database", "fresh", "postgres", "server", "site"})
_SMOKE_TEST = "tests/browser/test_smoke.py"


def _read_system_tests() -> dict[str, float]:
    """Return the system tests, as modules or node ids, with the seconds that each took."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["tests"]
    return {str(row["path"]): float(row["seconds"]) for row in rows}


def _find_row(node: str, rows: Iterable[str]) -> str | None:
    """Return the row of a test: its module, or its node id with or without parameters."""
    module, _, name = node.partition("::")
    return next((row for row in (module, f"{module}::{name.partition('[')[0]}", node) if row in rows), None)


def assign_tiers(items: list[pytest.Item]) -> None:
    """Mark the system tests, and order modules by the seconds of their system tests, slowest first.

    Raises:
        pytest.UsageError: A test starts a server, a database or a browser and is not a system test.
    """
    rows = _read_system_tests()
    seconds: dict[str, float] = {}
    for row, took in rows.items():
        module = row.partition("::")[0]
        seconds[module] = seconds.get(module, 0) + took
    for item in items:
        module = item.nodeid.partition("::")[0]
        if _find_row(item.nodeid, rows) is not None or NEEDS_MODEL.mark in item.iter_markers("skipif"):
            item.add_marker("system")
        elif module != _SMOKE_TEST:
            used = _SYSTEM_FIXTURES.intersection(getattr(item, "fixturenames", ()))
            if used:
                place = f"tests/{TABLE.name}, with its seconds and the reason"
                raise pytest.UsageError(f"{item.nodeid} uses {', '.join(sorted(used))}: add it to {place}")
    items.sort(key=lambda item: -seconds.get(item.nodeid.partition("::")[0], 0))


def fail_on_skips(session: pytest.Session) -> None:
    """Fail a run of CI that skipped a test, unless `skips` of `tests/system_tests.toml` lists the test."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("CI") or reporter is None:
        return
    allowed = tomllib.loads(TABLE.read_text(encoding="utf-8"))["skips"]
    skipped = sorted({report.nodeid for report in reporter.stats.get("skipped", ())})
    missing = [node for node in skipped if _find_row(node, allowed) is None]
    if missing:
        reporter.write_sep("=", f"skipped tests fail in CI (allowed: skips in tests/{TABLE.name})", red=True)
        reporter.write_line("\n".join(missing))
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
