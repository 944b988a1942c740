"""Bounds and defaults of the posterior stopping rule."""

from __future__ import annotations

__all__ = ["LEAST_VOTES", "LEVELS"]

LEVELS = (0.55, 0.9999)
"""The lowest and the highest posterior at which voting can stop."""

LEAST_VOTES = 5
"""The minimum number of votes after which voting can stop."""
