"""Tables with human ratings of captions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from capeval._internal.csv_escape import is_number, unescape_cell
from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.errors import CapevalWarning, CaptionError, FormatError, FormatErrorKind
from capeval.formats.io.rows import column, make_line_error, read_table
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors

__all__ = ["Ratings", "image_ids", "load_ratings", "require_ratings"]


_INTEGER = re.compile(r"0|[1-9][0-9]{0,17}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """Human ratings of captions: one row per caption.

    Attributes:
        image_ids: The image of each caption.
        captions: The captions.
        values: The ratings, where higher is better; shape (captions, raters), NaN for missing ratings.
        systems: The system that wrote each caption; empty if unknown.

    Raises:
        CaptionError: The numbers of rows differ, a row has no rating, or a rating is infinite.
    """

    image_ids: tuple[ImageId, ...]
    captions: tuple[str, ...]
    values: FloatArray
    systems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rows = len(self.image_ids)
        if self.values.ndim != 2 or {rows, len(self.captions), len(self.values)} != {rows}:
            raise CaptionError(
                "'image_ids', 'captions' and the rows of 'values' must have the same length (got"
                f" {rows} images, {len(self.captions)} captions, values of shape {self.values.shape})"
            )
        if self.systems and len(self.systems) != rows:
            raise CaptionError(
                f"'systems' must be empty or have one system for each of {rows} captions"
                f" (got {len(self.systems)})"
            )
        wrong = np.flatnonzero(np.isinf(self.values).any(axis=1) | np.isnan(self.values).all(axis=1))
        if wrong.size:
            row = int(wrong[0])
            image = self.image_ids[row]
            raise CaptionError(
                f"row {row} (image {image!r}) must have a finite rating (got {self.values[row].tolist()})"
            )


def load_ratings(file: File, *, name: str = "", limit: int = LIMIT) -> Ratings:
    """Read ratings from a table with one row per caption.

    The file is CSV with commas or tabs as delimiters, and may be compressed with gzip. The header names the
    columns: `image_id`, `caption`, one or more that start with `rating` (one column per rater; an empty field
    is a missing rating), and optionally `system`. Other columns are ignored. Image ids are integers if all of
    them are integers in canonical form. Apostrophes that protect text against formula injection are removed.
    Files of early versions also have them before negative ratings, which are read as numbers, with a warning.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes, for error messages.
        limit: The maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file is invalid; the error names the line.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.judgments.ratings import load_ratings
        >>> table = '''image_id,system,caption,rating_1,rating_2
        ... 1,Transformer,A dog runs.,5,4
        ... 1,Baseline,A dog.,3,
        ... '''
        >>> _ = Path("ratings.csv").write_text(table)
        >>> ratings = load_ratings("ratings.csv")
        >>> ratings.image_ids, ratings.systems
        ((1, 1), ('Transformer', 'Baseline'))
        >>> ratings.values.tolist()
        [[5.0, 4.0], [3.0, nan]]
    """
    images, captions, systems, values = [], [], [], []
    escaped: list[int] = []
    with add_path_to_errors(file, name):
        header, rows = read_table(file, limit)
        image_id, caption = column(header, "image_id"), column(header, "caption")
        raters = [place for place, title in enumerate(header) if title.startswith("rating")]
        # If there is none, the error names the column `rating`.
        raters = raters or [column(header, "rating")]
        system = header.index("system") if "system" in header else None
        for line, row in rows:
            images.append(unescape_cell(row[image_id]))
            captions.append(unescape_cell(row[caption]))
            given = [row[place] for place in raters]
            escaped += [line for text in given if _is_escaped(text)]
            values.append([_parse_rating(text, line) for text in given])
            if np.isnan(values[-1]).all():
                raise make_line_error(line, "a rating", "none")
            if system is not None:
                systems.append(unescape_cell(row[system]))
                if not row[system]:
                    raise make_line_error(line, "a system", "none")
        require_ratings(images)
    if escaped:
        _warn_of_escaped(str(name if isinstance(file, bytes) else file), escaped)
    return Ratings(
        image_ids=image_ids(images),
        captions=tuple(captions),
        values=np.array(values, dtype=np.float64),
        systems=tuple(systems),
    )


def _is_escaped(text: str) -> bool:
    return text.startswith("'") and is_number(text[1:])


def _warn_of_escaped(name: str, lines: Sequence[int]) -> None:
    where = f"{name}: " if name else ""
    number = "1 rating begins" if len(lines) == 1 else f"{len(lines):,} ratings begin"
    warnings.warn(
        f"{where}{number} with an apostrophe (first in line {lines[0]}), as in files of early versions of"
        " capeval; read as numbers. Other programs read them as text: create the file again, or remove the"
        " apostrophes",
        CapevalWarning,
        stacklevel=3,
    )


def _parse_rating(text: str, line: int) -> float:
    if not text.strip():
        return float("nan")
    try:
        value = float(text[1:] if _is_escaped(text) else text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise make_line_error(line, "a finite number as rating", repr(text))
    return value


def image_ids(texts: Sequence[str]) -> tuple[ImageId, ...]:
    """Convert image ids to integers if all are integers in canonical form.

    Example:
        An id with a leading zero is not an integer in canonical form:

        >>> from capeval.formats.judgments.ratings import image_ids
        >>> image_ids(["9", "10"])
        (9, 10)
        >>> image_ids(["9", "010"])
        ('9', '010')
    """
    plain = all(_INTEGER.fullmatch(text) for text in texts)
    return tuple(int(text) for text in texts) if plain else tuple(texts)


def require_ratings(images: Sequence[str]) -> None:
    """Check that a file contains at least one rating.

    Raises:
        FormatError: There is none.

    Example:
        >>> from capeval.formats.judgments.ratings import require_ratings
        >>> require_ratings(["9", "10"])
        >>> require_ratings([])
        Traceback (most recent call last):
          ...
        capeval.errors.FormatError: the file must have at least one rating (got none)
    """
    if not images:
        message = "the file must have at least one rating (got none)"
        raise FormatError(message, kind=FormatErrorKind.NO_RATINGS)
