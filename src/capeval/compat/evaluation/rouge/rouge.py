"""ROUGE-L under the name of the package `evaluation`."""

from __future__ import annotations

from capeval.compat.rouge import rouge

__all__ = ["Rouge"]


class Rouge(rouge.Rouge):
    """ROUGE-L with beta 1.2; its `str` is the name of the score."""

    def __str__(self) -> str:
        return "ROUGE"
