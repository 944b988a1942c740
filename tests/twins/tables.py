"""Captions of a table, row by row."""

from __future__ import annotations

from typing import Any

__all__ = ["captions_of"]


def captions_of(table: Any, image: str, caption: str) -> dict[int | str, list[str]]:
    """The captions of each image of an Arrow table, which has no nulls."""
    captions: dict[int | str, list[str]] = {}
    for row in table.to_pylist():
        texts = row[caption] if isinstance(row[caption], list) else [row[caption]]
        captions.setdefault(row[image], []).extend(texts)
    return captions
