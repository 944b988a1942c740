"""Scores that a system gives to words of an image: JSON lines, an image each."""

from __future__ import annotations

import json
import math
from pathlib import Path

from capeval.errors import FormatError
from capeval.formats.objects import naming
from capeval.formats.sources import read_source
from capeval.types import ImageId

__all__ = ["load_word_scores"]


def load_word_scores(path: str | Path) -> dict[str, dict[ImageId, float]]:
    """Reads `{"image_id": 7, "scores": {"dog": 0.9, "grass": 0.4}}` from each line of a file.

    The file may be in gzip. Higher is surer. Words that a line doesn't name have no score for its image, and
    come after all others.

    Returns:
        Word to image to score.

    Raises:
        FormatError: A line is something else, or has an image of a line before.
        OSError: The file can't be read.
    """
    scores: dict[str, dict[ImageId, float]] = {}
    seen: set[ImageId] = set()
    with naming(path):
        for number, line in enumerate(read_source(path).data.split(b"\n"), start=1):
            if not line.strip():
                continue
            image, words = _entry(line, number)
            if image in seen:
                raise _wrong("an image must be there once", f"image {image!r} again", number)
            seen.add(image)
            for word, score in words.items():
                scores.setdefault(word, {})[image] = score
        if not scores:
            raise FormatError("a file of word scores must score at least one word (got none)", kind="Empty")
    return scores


def _entry(line: bytes, number: int) -> tuple[ImageId, dict[str, float]]:
    try:
        entry = json.loads(line)
    except ValueError:
        raise _wrong("must be JSON", repr(line[:40]), number, kind="NotJson") from None
    expected = 'must be an object with "image_id" and "scores"'
    if not isinstance(entry, dict) or not {"image_id", "scores"} <= entry.keys():
        raise _wrong(expected, type(entry).__name__, number)
    image, words = entry["image_id"], entry["scores"]
    if type(image) not in (int, str):
        raise _wrong('"image_id" must be an integer or text', type(image).__name__, number)
    if not isinstance(words, dict) or not all(_is_number(score) for score in words.values()):
        raise _wrong('"scores" must be an object of words and numbers', repr(words)[:60], number)
    return image, words


def _is_number(score: object) -> bool:
    # Python reads NaN and Infinity, which are no JSON and have no place in an order.
    return type(score) is int or (isinstance(score, float) and math.isfinite(score))


def _wrong(expected: str, found: str, line: int, kind: str = "WrongType") -> FormatError:
    return FormatError(f"line {line}: {expected} (got {found})", kind=kind, line=line)
