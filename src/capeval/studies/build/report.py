"""Table of a dataset's splits."""

from __future__ import annotations

from capeval.datasets.building import Dataset
from capeval.scoring.grids import Cell, Grid

__all__ = ["split_table"]


def split_table(dataset: Dataset) -> Grid:
    """Return one row per split: its access, images and captions."""
    rows = tuple(
        (
            Cell(value=name),
            Cell(value="private" if split.private else "public"),
            Cell(value=len(split.references)),
            Cell(value=int(split.references.counts.sum())),
            Cell(value=0 if split.many is None else int(split.many.counts.sum())),
            Cell(value=0 if split.human is None else len(split.human)),
        )
        for name, split in dataset.splits.items()
    )
    columns = ("Split", "Access", "Images", "References", "References (many)", "Held out")
    return Grid(columns=columns, rows=rows)
