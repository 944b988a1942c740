"""Captions as words: the two ways to split that scorers of captions use."""

from collections import Counter
from collections.abc import Sequence

Ngram = tuple[str, ...]


def words(caption: str) -> list[str]:
    """Words between any white space: for BLEU, ROUGE-N, ROUGE-S and CIDEr."""
    return caption.split()


def spaced(caption: str) -> list[str]:
    """Words between single spaces: for ROUGE-L. An empty caption is one empty word."""
    return caption.split(" ")


def ngrams(sequence: Sequence[str], n: int) -> Counter[Ngram]:
    """How often each n-gram occurs."""
    return Counter(tuple(sequence[i : i + n]) for i in range(len(sequence) - n + 1))
