"""Data types: captions by image, columns of tables, scores and signatures."""

from capeval.data.captions import (
    Candidates,
    CandidatesLike,
    ImageId,
    References,
    ReferencesLike,
    Table,
    find_rows,
    is_image_id,
)
from capeval.data.scores import Digest, FloatArray, Scores, Signature

__all__ = [
    "Candidates",
    "CandidatesLike",
    "Digest",
    "FloatArray",
    "ImageId",
    "References",
    "ReferencesLike",
    "Scores",
    "Signature",
    "Table",
    "find_rows",
    "is_image_id",
]
