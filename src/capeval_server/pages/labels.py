"""What pages call the fields that a challenge has its submitters declare."""

from __future__ import annotations

__all__ = ["label"]


def label(name: str) -> str:
    """A field's name as people read it: `training-data` is "Training data"."""
    words = name.replace("-", " ").replace("_", " ")
    return "URL" if words.lower() == "url" else words[:1].upper() + words[1:]
