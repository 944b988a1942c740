"""The ways to count a tie of a metric."""

from __future__ import annotations

from typing import Literal

__all__ = ["Ties"]

# A tie is a win of the first, or half a win.
Ties = Literal["first", "half"]
