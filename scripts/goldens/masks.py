"""Masks for values that differ between runs or versions of capeval."""

from __future__ import annotations

import re
import tempfile
from importlib.metadata import version
from pathlib import Path

from scripts.goldens.names import COMMAND, PROJECT

__all__ = ["mask"]

_PATTERNS = [
    (re.compile(pattern), mask)
    for pattern, mask in (
        # allauth's keys in URLs: signed values with a time stamp.
        (r"(?<=/confirm-email/)[\w:-]+(?=/)", "KEY"),
        (r"(?<=/password/reset/key/)[\w-]+(?=/)", "KEY"),
        (r"(?<=secret=)[A-Z2-7]{32}\b", "SECRET"),
        (r"(?<=/enter/)work_[\w-]+", "TOKEN"),
        (r"\b(?:capeval|work)_[\w-]{43}", "TOKEN"),
        (r"(?<=code=)[\w-]{16}\b", "CODE"),
        (r'(?<=name="csrfmiddlewaretoken" value=")\w+', "TOKEN"),
        (r'(?<=name="key" value=")[\w-]{16,}', "KEY"),
        (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
        # Ids of permissions, which depend on the order of migrations.
        (r'(?<=<option value=")\d+(?=">[^|<]+\|[^|<]+\| Can )', "ID"),
        (r"\b[0-9a-f]{64}\b", "SHA256"),
        (r"\b[0-9a-f]{32}\b", "HEX32"),
        (r"(?<![\w.])(?=[0-9a-f]{0,15}[0-9])[0-9a-f]{16}\b", "HEX16"),
        (r"\bhost:\d+\b", "host:PID"),
        (r"\b\d+\.\d+ ms\b", "N ms"),
    )
]


def mask(text: str) -> str:
    """Return a text with ids, tokens, hashes, durations, paths and versions masked."""
    for folder, name in (
        (tempfile.gettempdir(), "TMP"),
        (str(PROJECT), "PROJECT"),
        (str(Path.home()), "~"),
    ):
        if len(folder) > 1:
            text = re.sub(rf"(?<![\w.]){re.escape(folder)}(?![\w.])", name, text)
    for pattern, name in _PATTERNS:
        text = pattern.sub(name, text)
    return re.sub(rf"(?<![\w.]){re.escape(version(COMMAND))}(?!\w|\.\d)", "VERSION", text)
