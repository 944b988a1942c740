"""Original files of THumB 1.0 on COCO captions (Kasai et al. 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from capeval.data.captions import References
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.json import TEXT, Field, check_row, read_json_lines
from capeval.formats.io.rows import make_line_error
from capeval.formats.io.sources import File, add_path_to_errors

__all__ = ["ThumbCaption", "load_thumb"]

_NUMBER = Field("a number", lambda value: type(value) in (int, float))
_TEXTS = Field(
    "a list of strings, at least one",
    lambda value: isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value),
)
_RATINGS = ("P", "R", "Fl", "Inc", "Con", "human_score")


@dataclass(frozen=True, kw_only=True)
class ThumbCaption:
    """A caption with its ratings.

    Attributes:
        image: The id of the image in COCO, as in the file.
        system: The captioner, or `Human`.
        caption: The caption.
        ratings: Precision `P` and recall `R` from 1 to 5, the penalties `Fl` (fluency), `Inc` (inclusive
            language) and `Con` (conciseness), and the total `human_score`.
    """

    image: str
    system: str
    caption: str
    ratings: Mapping[str, float]


def load_thumb(ratings: File, references: File) -> tuple[References, tuple[ThumbCaption, ...]]:
    """Read THumB's ratings of captions, and the references of their images.

    Args:
        ratings: `mscoco_THumB-1.0.jsonl`, the path of the file or its bytes; one caption per line.
        references: `mscoco_references.json`, which also contains one object per line.

    Returns:
        The references of each image, and the captions in the order of the file.

    Raises:
        FormatError: A file is invalid, or an image has no references; the error names the line.
        OSError: A file can't be read.

    Example:
        >>> import json
        >>> from capeval.datasets.thumb import load_thumb
        >>> scores = {"P": 4.0, "R": 3.0, "Fl": -0.1, "Inc": 0.0, "Con": 0.0, "human_score": 3.4}
        >>> row = json.dumps({"SYS": "Up-Down", "seg_id": "9", "hyp": "A dog run.", **scores})
        >>> references, [rated] = load_thumb(row.encode(), b'{"seg_id": "9", "refs": ["A dog runs."]}')
        >>> references[rated.image], rated.caption, rated.ratings["human_score"]
        (['A dog runs.'], 'A dog run.', 3.4)
    """
    with add_path_to_errors(references):
        fields = {"seg_id": TEXT, "refs": _TEXTS}
        known = {row["seg_id"]: row["refs"] for _, row in _iterate(references, fields)}
    captions = []
    with add_path_to_errors(ratings):
        fields = {"SYS": TEXT, "seg_id": TEXT, "hyp": TEXT, **dict.fromkeys(_RATINGS, _NUMBER)}
        for line, row in _iterate(ratings, fields):
            if row["seg_id"] not in known:
                raise make_line_error(line, "an image with references", repr(row["seg_id"]))
            captions.append(
                ThumbCaption(
                    image=row["seg_id"],
                    system=row["SYS"],
                    caption=row["hyp"],
                    ratings={name: float(row[name]) for name in _RATINGS},
                )
            )
        if not captions:
            raise FormatError("the file must contain at least one caption", kind=FormatErrorKind.WRONG_TYPE)
    return References(known), tuple(captions)


def _iterate(file: File, fields: Mapping[str, Field]) -> list[tuple[int, dict[str, Any]]]:
    return [(line, check_row(row, f"line {line}", fields)) for line, row in read_json_lines(file)]
