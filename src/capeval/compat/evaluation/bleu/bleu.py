"""BLEU under the name of the package `evaluation`."""

from __future__ import annotations

from capeval.compat.bleu import bleu

__all__ = ["Bleu"]


class Bleu(bleu.Bleu):
    """BLEU-1 to BLEU-n with the closest reference length; its `str` is the name of the score."""

    def __str__(self) -> str:
        return "BLEU"
