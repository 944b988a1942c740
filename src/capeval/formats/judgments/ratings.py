"""Tables of human ratings of captions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from capeval._internal.csv_escape import is_number, original
from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.errors import CapevalWarning, CaptionError, FormatError, FormatErrorKind
from capeval.formats.io.rows import column, read_table, wrong_line
from capeval.formats.io.sources import LIMIT, File, naming

__all__ = ["Ratings", "image_ids", "load_ratings", "require_ratings"]


_INTEGER = re.compile(r"0|[1-9][0-9]{0,17}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """Ratings of captions by people: a row a caption.

    Attributes:
        image_ids: The image of each caption.
        captions: The captions.
        values: The ratings, higher for better: rows by raters, NaN where a rater did not rate.
        systems: The system that wrote each caption; empty where that is not known.

    Raises:
        CaptionError: The rows do not fit each other, a row has no rating, or a rating is infinite.
    """

    image_ids: tuple[ImageId, ...]
    captions: tuple[str, ...]
    values: FloatArray
    systems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rows = len(self.image_ids)
        if self.values.ndim != 2 or {rows, len(self.captions), len(self.values)} != {rows}:
            raise CaptionError(
                "ratings must have an image, a caption and a row of numbers each (got"
                f" {rows} images, {len(self.captions)} captions, numbers of shape {self.values.shape})"
            )
        if self.systems and len(self.systems) != rows:
            raise CaptionError(f"{rows} ratings must have {rows} systems or none (got {len(self.systems)})")
        wrong = np.flatnonzero(np.isinf(self.values).any(axis=1) | np.isnan(self.values).all(axis=1))
        if wrong.size:
            row = int(wrong[0])
            image = self.image_ids[row]
            raise CaptionError(
                f"row {row}, of image {image!r}, must have a finite rating (got {self.values[row].tolist()})"
            )


def load_ratings(file: File, *, name: str = "", limit: int = LIMIT) -> Ratings:
    """Ratings from a table with a row for each caption.

    The file is CSV, with commas or tabs between the columns, and may be in gzip. Its first line names the
    columns: `image_id`, `caption`, one or more whose names begin with `rating` (a column for each rater;
    an empty field is no rating), and optionally `system`. Other columns are not read. Image ids are
    integers where all are integers written plainly. An apostrophe that protects text from being run as a
    formula is removed. Files of early versions also have it before negative ratings: these are read as
    numbers, with a warning.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes, for errors.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: The file is something else; the error says which line.
        OSError: The file can't be read.
    """
    images, captions, systems, values = [], [], [], []
    escaped: list[int] = []
    with naming(file, name):
        header, rows = read_table(file, limit)
        image_id, caption = column(header, "image_id"), column(header, "caption")
        raters = [place for place, title in enumerate(header) if title.startswith("rating")]
        # Where there is none, the error names the first one.
        raters = raters or [column(header, "rating")]
        system = header.index("system") if "system" in header else None
        for line, row in rows:
            images.append(original(row[image_id]))
            captions.append(original(row[caption]))
            given = [row[place] for place in raters]
            escaped += [line for text in given if _is_escaped(text)]
            values.append([_rating(text, line) for text in given])
            if np.isnan(values[-1]).all():
                raise wrong_line(line, "a rating", "none")
            if system is not None:
                systems.append(original(row[system]))
                if not row[system]:
                    raise wrong_line(line, "a system", "none")
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
        " capeval; read as numbers. Other programs read them as text: write the file again, or remove the"
        " apostrophes",
        CapevalWarning,
        stacklevel=3,
    )


def _rating(text: str, line: int) -> float:
    if not text.strip():
        return float("nan")
    try:
        value = float(text[1:] if _is_escaped(text) else text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise wrong_line(line, "a rating that is a number", repr(text))
    return value


def image_ids(texts: Sequence[str]) -> tuple[ImageId, ...]:
    """Image ids from text: integers where all are integers written plainly."""
    plain = all(_INTEGER.fullmatch(text) for text in texts)
    return tuple(int(text) for text in texts) if plain else tuple(texts)


def require_ratings(images: Sequence[str]) -> None:
    """Checks that a file of ratings has any.

    Raises:
        FormatError: There is none.
    """
    if not images:
        message = "the file must have at least one rating (got none)"
        raise FormatError(message, kind=FormatErrorKind.NO_RATINGS)
