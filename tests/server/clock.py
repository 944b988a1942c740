"""A clock set by tests, so that limits and quotas do not depend on the duration of a test."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.cache.backends import db as cached
from django.utils import timezone

__all__ = ["Clock", "stopped_clock"]

NETWORK = Path(__file__).parents[1] / "network"

# Python runs this first in each process of a server, to stop its clock.
_STOPPED = """
import time
from django.utils import timezone
moment = {moment!r}
time.time = lambda: moment
timezone.now = lambda: timezone.datetime.fromtimestamp(moment, timezone.timezone.utc)
"""


class Clock:
    """The clock of the server in this process, stopped until a test sets or advances it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = datetime.now(UTC)
        monkeypatch.setattr(timezone, "now", lambda: self.now)
        monkeypatch.setattr(cached, "tz_now", lambda: self.now)
        monkeypatch.setattr(time, "time", lambda: self.now.timestamp())

    @property
    def midnight(self) -> datetime:
        """The next midnight, UTC."""
        return self.now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def stopped_clock() -> str:
    """Return a `sitecustomize.py` that stops the clock of server processes at the current time."""
    return _STOPPED.format(moment=time.time()) + (NETWORK / "sitecustomize.py").read_text()
