"""Captions as words: the two ways to split that scorers of captions use."""

import hashlib
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


def fingerprint(image: int | str, captions: Sequence[str]) -> int:
    """Of an image: the kind of its id, the id, the number of captions and, before each text, its length."""
    parts = (
        [b"\0", image.to_bytes(8, "little", signed=True)]
        if isinstance(image, int)
        else [b"\1", *_text(image)]
    )
    parts.append(len(captions).to_bytes(8, "little"))
    parts += [part for caption in captions for part in _text(caption)]
    return int.from_bytes(hashlib.sha256(b"".join(parts)).digest()[:8], "little")


def _text(text: str) -> tuple[bytes, bytes]:
    data = text.encode()
    return len(data).to_bytes(8, "little"), data
