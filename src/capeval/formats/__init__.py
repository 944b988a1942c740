"""Readers and writers for captions, human judgments, constraints and image lists."""

from capeval.formats.caption_files import load_candidates, load_references, write_candidates, write_references
from capeval.formats.io.sources import LIMIT
from capeval.formats.subsets import load_subsets

__all__ = [
    "LIMIT",
    "load_candidates",
    "load_references",
    "load_subsets",
    "write_candidates",
    "write_references",
]
