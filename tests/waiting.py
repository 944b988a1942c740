"""Waiting for a state, never for a time: on a slow machine a test takes longer, and does not fail."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
# Long enough to fail only on real hangs: a machine with both cores busy may be ten times slower.
PATIENCE = 300.0


def wait_until(state: Callable[[], T | None], missing: Callable[[], object]) -> T:
    """Wait until `state()` is true and return its value; fail with `missing()` on a timeout."""
    end = time.monotonic() + PATIENCE
    while not (reached := state()):
        assert time.monotonic() < end, missing()
        time.sleep(0.02)
    return reached
