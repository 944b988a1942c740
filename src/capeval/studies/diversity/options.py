"""Options of a study of diversity."""

from __future__ import annotations

from typing import Literal

__all__ = ["Similarity"]

# The similarity of two captions, for Self-CIDEr.
Similarity = Literal["CIDEr-D", "CIDEr"]
