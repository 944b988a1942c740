"""Tie rules of metrics."""

from __future__ import annotations

from typing import Literal

__all__ = ["Ties"]

# A tie counts as a win of the first candidate, or as half a win.
Ties = Literal["first", "half"]
