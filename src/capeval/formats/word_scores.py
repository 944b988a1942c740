"""A system's word scores per image, in JSON Lines with one image per line."""

from __future__ import annotations

import math

from capeval.data.captions import ImageId
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.json import IMAGE_ID, Field, check_row, read_json_lines
from capeval.formats.io.sources import File, add_path_to_errors

__all__ = ["load_word_scores"]


def _are_scores(value: object) -> bool:
    return isinstance(value, dict) and all(_is_number(score) for score in value.values())


def _is_number(value: object) -> bool:
    return type(value) is int or (isinstance(value, float) and math.isfinite(value))


_FIELDS = {"image_id": IMAGE_ID, "scores": Field("an object of words and numbers", _are_scores)}


def load_word_scores(file: File) -> dict[str, dict[ImageId, float]]:
    """Read a system's scores of words for images from a JSON Lines file.

    Each line is an object such as `{"image_id": 7, "scores": {"dog": 0.9, "grass": 0.4}}`. The file may be
    compressed with gzip. A higher score means higher confidence in the word. Words missing from a line have
    no score for its image, and rank after all others.

    Returns:
        The score of each image, by word.

    Raises:
        FormatError: A line is invalid, or repeats the image of an earlier line.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.word_scores import load_word_scores
        >>> lines = '''{"image_id": 7, "scores": {"dog": 0.9, "grass": 0.4}}
        ... {"image_id": 8, "scores": {"dog": 0.2}}
        ... '''
        >>> _ = Path("scores.jsonl").write_text(lines)
        >>> load_word_scores("scores.jsonl")
        {'dog': {7: 0.9, 8: 0.2}, 'grass': {7: 0.4}}
    """
    scores: dict[str, dict[ImageId, float]] = {}
    seen: set[ImageId] = set()
    with add_path_to_errors(file):
        for number, value in read_json_lines(file):
            entry = f"line {number}"
            row = check_row(value, entry, _FIELDS)
            image = row["image_id"]
            if image in seen:
                message = f"{entry}: duplicate image_id {image!r}"
                raise FormatError(message, kind=FormatErrorKind.DUPLICATE_IMAGE, entry=entry, line=number)
            seen.add(image)
            for word, score in row["scores"].items():
                scores.setdefault(word, {})[image] = score
        if not scores:
            raise FormatError(
                "the file must contain at least one score (got none)", kind=FormatErrorKind.EMPTY
            )
    return scores
