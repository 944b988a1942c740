"""Bounds and defaults of the rule that ends voting by a posterior."""

from __future__ import annotations

__all__ = ["LEAST_VOTES", "LEVELS"]

LEVELS = (0.55, 0.9999)
"""The lowest and the highest posterior at which voting may stop."""

LEAST_VOTES = 5
"""The fewest votes after which voting may stop."""
