"""Settings of Hypothesis, the tiers of the tests, and the same environment for every run."""

import gc
import os
import signal
import sys

import pytest
from hypothesis import HealthCheck, settings

from tests.network.staying import refuse
from tests.once import give_folder
from tests.tiers import assign_tiers, fail_on_skips

# Shared machines are slow at times, and a slow example is no failure.
# The same examples in every run: a change is judged by what it changed. `thorough`, which is part of
# `make conformance`, tries new ones.
settings.register_profile(
    "capeval",
    deadline=None,
    max_examples=25,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough", parent=settings.get_profile("capeval"), max_examples=100, derandomize=False
)
# For tests that other tests run.
settings.register_profile("few", parent=settings.get_profile("capeval"), max_examples=3)
settings.load_profile("capeval")

# Variables that change the output of programs, or the server, user or token of their connections.
FOREIGN = (
    *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "PYTHONWARNINGS", "RAYON_NUM_THREADS"),
    *("PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGPASSWORD", "PGSSLMODE", "PGSERVICE", "CAPEVAL_TOKEN"),
)


def pytest_configure(config: pytest.Config) -> None:
    """Give the tests, and the programs that they start, the same signals and environment everywhere."""
    give_folder(config)
    # For good: a hook can't be taken away.
    sys.addaudithook(refuse)
    # A shell makes a job in the background ignore interrupts, and programs inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in FOREIGN:
        os.environ.pop(name, None)
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ["TZ"] = "UTC"
    # Tests start hundreds of programs, and each of them would compile the package again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Threads of OpenBLAS take a third of the start of a program, and the tests use all processors anyway.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    # The default thresholds take a tenth of the time of the server's tests.
    gc.set_threshold(200_000, 20, 100)
    # A parse cache would make the work of a test depend on the tests before it.
    os.environ["CAPEVAL_STORE"] = "off"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Assign tests to the gate or to the system tests."""
    assign_tiers(items)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run of CI that skipped tests."""
    fail_on_skips(session)


def pytest_xdist_auto_num_workers() -> int:
    """Return the processes of `-n auto`: one more than processors, since tests wait, and at most 4."""
    return min((os.cpu_count() or 1) + 1, 4)
