"""Readers and writers of caption files."""

from capeval.formats.captions import (
    load_candidates,
    load_references,
    write_candidates,
    write_references,
)
from capeval.formats.sources import LIMIT
from capeval.formats.subsets import load_subsets

__all__ = [
    "LIMIT",
    "load_candidates",
    "load_references",
    "load_subsets",
    "write_candidates",
    "write_references",
]
