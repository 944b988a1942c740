"""Judged captions from the ratings of a benchmark."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from capeval.data.captions import References
from capeval.data.scores import FloatArray
from capeval.datasets.rated_tables import load_rated_captions
from capeval.formats.io.sources import find_file
from capeval.formats.judgments.ratings import Ratings
from capeval.studies.metric.judgments import CaptionJudgments

__all__ = ["judge_ratings", "load_table"]


def judge_ratings(references: References, ratings: Ratings, votes: FloatArray) -> CaptionJudgments:
    """Return rated captions with the references of their images.

    Args:
        references: The references of each image.
        ratings: The ratings, one row per caption.
        votes: The judgment of each person, from which people's agreement is computed.
    """
    return CaptionJudgments(
        image_ids=ratings.image_ids,
        captions=ratings.captions,
        references=tuple(tuple(references[image]) for image in ratings.image_ids),
        ratings={"": ratings.values},
        votes=votes,
    )


def load_table(folder: Path, name: str) -> CaptionJudgments:
    """Read judged captions from one file of a folder."""
    rows = load_rated_captions(find_file(folder, name))
    return CaptionJudgments(
        image_ids=tuple(row.image for row in rows),
        captions=tuple(row.caption for row in rows),
        references=tuple(row.references for row in rows),
        ratings={"": np.array([[row.rating] for row in rows])},
    )
