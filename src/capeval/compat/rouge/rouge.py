"""ROUGE-L under pycocoevalcap's name."""

from __future__ import annotations

from capeval.compat.scoring import SingleScorer
from capeval.metrics.rouge import RougeL

__all__ = ["Rouge"]


class Rouge(SingleScorer):
    """ROUGE-L with beta 1.2."""

    _name = "Rouge"

    def __init__(self) -> None:
        super().__init__(RougeL())
