"""Hashes of answers, which remain after a redaction, and seeded random numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["compute_digest", "draw_number"]


def compute_digest(answer: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an answer, as JSON with sorted names and without spaces."""
    text = json.dumps(answer, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def draw_number(*parts: object) -> int:
    """Return a number from 0 to 2**32 - 1 derived from a campaign's seed and its use."""
    text = "/".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
