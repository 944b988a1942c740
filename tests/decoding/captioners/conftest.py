"""No network, caches of their own, and one thread: for small models, several only wait for each other."""

import os
import tempfile

import pytest

from tests.tiers import fail_on_skips

_CACHES = tempfile.TemporaryDirectory(prefix="capeval-test-baselines-")
# Read by the libraries when they are imported.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HOME"] = _CACHES.name


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run of CI that skipped tests."""
    fail_on_skips(session)
