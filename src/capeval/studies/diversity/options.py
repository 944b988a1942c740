"""Options of a study of diversity."""

from __future__ import annotations

from typing import Literal

__all__ = ["Similarity"]

# The metric that says how similar two captions are, for Self-CIDEr.
Similarity = Literal["CIDEr-D", "CIDEr"]
