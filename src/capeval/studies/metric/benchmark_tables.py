"""Benchmarks in one table of rated captions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from capeval.datasets.rated_tables import load_rated_captions
from capeval.formats.io.sources import find_file
from capeval.studies.metric.judgments import CaptionJudgments

__all__ = ["load_table"]


def load_table(folder: Path, name: str) -> CaptionJudgments:
    """Read judged captions from one file of a folder."""
    rows = load_rated_captions(find_file(folder, name))
    return CaptionJudgments(
        image_ids=tuple(row.image for row in rows),
        captions=tuple(row.caption for row in rows),
        references=tuple(row.references for row in rows),
        ratings={"": np.array([[row.rating] for row in rows])},
    )
