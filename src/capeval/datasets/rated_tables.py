"""Tables of rated captions with their references: the form of Composite, Polaris and Nebula."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass

from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.rows import column, make_line_error, read_table
from capeval.formats.io.sources import File, add_path_to_errors

__all__ = ["RatedCaption", "load_rated_captions"]

_COLUMNS = ("imgid", "mt", "refs", "score")


@dataclass(frozen=True, kw_only=True)
class RatedCaption:
    """A caption with its rating.

    Attributes:
        image: The id of the image.
        caption: The caption.
        references: The references of the image.
        rating: The rating; higher is better.
    """

    image: str
    caption: str
    references: tuple[str, ...]
    rating: float


def load_rated_captions(file: File) -> tuple[RatedCaption, ...]:
    """Read rated captions from a CSV file with the columns `imgid`, `mt`, `refs` and `score`.

    `mt` is the caption, and `refs` a list of strings as Python prints it. Other columns are ignored, and
    repeated white space is one space. CaptionEvalKit-for-VLMs (github.com/YuigaWada, commit 23f154b) reads
    the files of Composite, Polaris and Nebula in this way
    (`capevalkit/infrastructure/benchmarks/legacy.py`, lines 80 to 102).

    Args:
        file: The path of the file, or its bytes.

    Raises:
        FormatError: The file is invalid; the error names the line.
        OSError: The file can't be read.

    Example:
        >>> from capeval.datasets.rated_tables import load_rated_captions
        >>> table = b'''imgid,mt,refs,score
        ... 1.jpg,a  dog,"['A dog runs.', 'The dog.']",0.75
        ... '''
        >>> [rated] = load_rated_captions(table)
        >>> rated.caption, rated.references, rated.rating
        ('a dog', ('A dog runs.', 'The dog.'), 0.75)
    """
    with add_path_to_errors(file):
        header, rows = read_table(file)
        image, caption, references, score = (column(header, name) for name in _COLUMNS)
        rated = tuple(
            RatedCaption(
                image=row[image],
                caption=" ".join(row[caption].split()),
                references=_parse_references(row[references], line),
                rating=_parse_rating(row[score], line),
            )
            for line, row in rows
        )
        if not rated:
            raise FormatError("the file must contain at least one caption", kind=FormatErrorKind.WRONG_TYPE)
        return rated


def _parse_references(text: str, line: int) -> tuple[str, ...]:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, list) or not found or not all(isinstance(each, str) for each in found):
        raise make_line_error(line, "a list of strings as refs, at least one", repr(text[:40]))
    return tuple(" ".join(each.split()) for each in found)


def _parse_rating(text: str, line: int) -> float:
    try:
        rating = float(text)
    except ValueError:
        rating = math.nan
    if not math.isfinite(rating):
        raise make_line_error(line, "a finite number as score", repr(text))
    return rating
