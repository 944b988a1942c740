"""Tables with human ratings of captions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from capeval._internal.csv_escape import is_number, unescape_cell
from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.errors import CapevalWarning, CaptionError, FormatError, FormatErrorKind
from capeval.formats.io.rows import column, make_line_error
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors
from capeval.formats.judgments.judgment_tables import (
    RatedRow,
    Rows,
    gather_ratings,
    is_judgment_table,
    read_judgments,
)

__all__ = ["Ratings", "image_ids", "load_ratings", "pad_ratings", "require_ratings"]


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


def load_ratings(file: File, *, question: str = "", name: str = "", limit: int = LIMIT) -> Ratings:
    """Read ratings from a table with one row per caption, or from a server's table of judgments.

    The file is CSV with commas or tabs as delimiters, and may be compressed with gzip. The header names the
    columns: `image_id`, `caption`, one or more that start with `rating` (one column per rater; an empty field
    is a missing rating), and optionally `system`. Other columns are ignored. Image ids are integers if all of
    them are integers in canonical form. Apostrophes that protect text against formula injection are removed.
    Files of early versions also have them before negative ratings, which are read as numbers, with a warning.

    `judgments.csv` and `judgments.parquet` of a server's release have one row per answer. The ratings are the
    answers to one question that the release counts.

    Args:
        file: The path of the file, or its bytes.
        question: The question in a table of judgments, such as `M3`; empty for the only one. Other files
            contain a single question.
        name: A name for bytes, for error messages.
        limit: The maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file is invalid, with the line of the problem; or a table of judgments has no such
            question.
        DependencyError: Parquet requires pyarrow, which is not installed.
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
        header, rows = read_judgments(file, limit)
        is_table = is_judgment_table(header)
        rated = gather_ratings(header, rows, question) if is_table else _iterate_rated(header, rows)
        for line, image, caption, system, given in rated:
            images.append(image)
            captions.append(caption)
            escaped += [line for text in given if _is_escaped(text)]
            values.append([_parse_rating(text, line) for text in given])
            if np.isnan(values[-1]).all():
                raise make_line_error(line, "a rating", "none")
            if system is not None:
                systems.append(system)
                if not system:
                    raise make_line_error(line, "a system", "none")
        require_ratings(images)
    if escaped:
        _warn_of_escaped(str(name if isinstance(file, bytes) else file), escaped)
    return Ratings(
        image_ids=image_ids(images),
        captions=tuple(captions),
        values=pad_ratings(values),
        systems=tuple(systems),
    )


def pad_ratings(rows: Sequence[Sequence[float]]) -> FloatArray:
    """Return rows of equal length, padded with NaN for missing ratings.

    Example:
        >>> from capeval.formats.judgments.ratings import pad_ratings
        >>> pad_ratings([[5.0, 4.0], [3.0]]).tolist()
        [[5.0, 4.0], [3.0, nan]]
    """
    most = max(map(len, rows))
    return np.array([[*row, *[np.nan] * (most - len(row))] for row in rows], dtype=np.float64)


def _iterate_rated(header: Sequence[str], rows: Rows) -> Iterator[RatedRow]:
    """Yield line, image id, caption, system and ratings of each caption, as text."""
    image_id, caption = column(header, "image_id"), column(header, "caption")
    raters = [place for place, title in enumerate(header) if title.startswith("rating")]
    # If there is none, the error names the column `rating`.
    raters = raters or [column(header, "rating")]
    system = header.index("system") if "system" in header else None
    for line, row in rows:
        writer = None if system is None else unescape_cell(row[system])
        given = [row[place] for place in raters]
        yield line, unescape_cell(row[image_id]), unescape_cell(row[caption]), writer, given


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
