"""The hash of an answer, which stays when its text is removed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["digest_of"]


def digest_of(answer: Mapping[str, Any]) -> str:
    """The SHA-256 of an answer, as JSON with sorted names and without spaces."""
    text = json.dumps(answer, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
