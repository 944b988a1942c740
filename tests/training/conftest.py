"""Setup of all tests in this folder: no network access, and separate caches."""

import os
import tempfile

import pytest

from tests.tiers import fail_on_skips

_CACHES = tempfile.TemporaryDirectory(prefix="capeval-test-training-")
# Read by the libraries when they are imported.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_EVALUATE_OFFLINE"] = "1"
os.environ["HF_HOME"] = _CACHES.name


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run of CI that skipped tests."""
    fail_on_skips(session)
