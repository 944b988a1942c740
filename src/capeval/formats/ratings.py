"""Tables of human ratings of captions: CSV, and the files of Flickr8K-Expert."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from capeval.errors import CaptionError, FormatError
from capeval.formats.sources import read_source
from capeval.types import FloatArray, ImageId, References

__all__ = ["Ratings", "image_ids", "load_flickr8k_expert", "load_ratings"]


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
            raise CaptionError(f"row {row} must have a finite rating (got {self.values[row].tolist()})")


def load_ratings(path: str | Path) -> Ratings:
    """Ratings from a table with a row for each caption.

    The file is CSV, or has tabs between its columns, and may be in gzip. Its first line names the
    columns: `image_id`, `caption`, one or more whose names begin with `rating` (a column a rater; an empty
    place is no rating), and `system` if it has one; it may have others. Image ids are integers where
    all are integers written plainly.

    Raises:
        FormatError: The file is something else; the error says which line.
        OSError: The file can't be read.
    """
    try:
        text = _text(path)
        first = text.split("\n", 1)[0]
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t" if "\t" in first else ",")
        columns = list(reader.fieldnames or ())
        raters = [name for name in columns if name.startswith("rating")]
        for name, there in (("image_id", "image_id" in columns), ("caption", "caption" in columns)):
            _require_column(name, columns, there=there)
        _require_column("rating", columns, there=bool(raters))
        images, captions, systems, values = [], [], [], []
        for row in reader:
            if None in row or None in row.values():
                raise _wrong(reader.line_num, f"{len(columns)} columns", "more or fewer")
            images.append(row["image_id"])
            captions.append(row["caption"])
            systems.append(row.get("system", ""))
            if "system" in columns and not systems[-1]:
                raise _wrong(reader.line_num, "a system", "none")
            values.append([_rating(row[name], reader.line_num) for name in raters])
            if np.isnan(values[-1]).all():
                raise _wrong(reader.line_num, "a rating", "none")
    except csv.Error as error:
        raise FormatError(f"the file is not CSV ({error})", kind="NotCsv", path=path) from None
    except FormatError as error:
        raise error.in_file(path) from None
    if not images:
        raise FormatError("the file must have at least one rating (got none)", kind="NoRatings", path=path)
    return Ratings(
        image_ids=image_ids(images),
        captions=tuple(captions),
        values=np.array(values, dtype=np.float64),
        systems=tuple(systems) if "system" in columns else (),
    )


def load_flickr8k_expert(
    ratings: str | Path, captions: str | Path, *, own: bool = False
) -> tuple[References, Ratings]:
    """The expert ratings of Flickr8K (Hodosh, Young and Hockenmaier 2013), as their authors publish them.

    Args:
        ratings: `ExpertAnnotations.txt`: image, caption's id, three ratings from 1 to 4, with tabs.
        captions: `Flickr8k.token.txt`: caption's id (`IMAGE#NUMBER`) and caption, with a tab.
        own: Whether to keep candidates that are one of the image's own captions. Published
            correlations leave them out.

    Returns:
        All captions of the rated images as references, and the ratings.

    Raises:
        FormatError: A file is something else; the error says which line.
        OSError: A file can't be read.
    """
    texts: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for line, (name, caption) in _tabbed(captions, 2):
        if "#" not in name or name in texts:
            raise _wrong(line, "a new caption's id such as image.jpg#0", repr(name)).in_file(captions)
        texts[name] = caption
        groups.setdefault(name.rpartition("#")[0], []).append(caption)
    images: list[ImageId] = []
    candidates, values = [], []
    for line, (image, name, *scores) in _tabbed(ratings, 5):
        if image not in groups or name not in texts:
            unknown = name if image in groups else image
            raise _wrong(line, "an image and a caption of the other file", repr(unknown)).in_file(ratings)
        if own or name.rpartition("#")[0] != image:
            images.append(image)
            candidates.append(texts[name])
            try:
                values.append([_rating(score, line) for score in scores])
            except FormatError as error:
                raise error.in_file(ratings) from None
    if not images:
        raise FormatError("the file must have at least one rating (got none)", kind="NoRatings", path=ratings)
    references = References({str(image): groups[str(image)] for image in dict.fromkeys(images)})
    return references, Ratings(
        image_ids=tuple(images), captions=tuple(candidates), values=np.array(values, dtype=np.float64)
    )


def _text(path: str | Path) -> str:
    data = read_source(path).data
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"the byte 0x{data[error.start]:02x} at {error.start} is not UTF-8; expected plain UTF-8"
        raise FormatError(message, kind="NotUtf8") from None


def _tabbed(path: str | Path, columns: int) -> Iterator[tuple[int, list[str]]]:
    """Each line with its number from 1, as what stands between its tabs."""
    try:
        lines = _text(path).splitlines()
    except FormatError as error:
        raise error.in_file(path) from None
    for number, line in enumerate(lines, 1):
        parts = line.split("\t")
        if len(parts) != columns:
            expected = f"{columns} columns with tabs between them"
            raise _wrong(number, expected, str(len(parts))).in_file(path)
        yield number, parts


def _rating(text: str, line: int) -> float:
    if not text.strip():
        return float("nan")
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise _wrong(line, "a rating that is a number", repr(text))
    return value


def image_ids(texts: Sequence[str]) -> tuple[ImageId, ...]:
    """Image ids from text: integers where all are integers written plainly."""
    plain = all(_INTEGER.fullmatch(text) for text in texts)
    return tuple(int(text) for text in texts) if plain else tuple(texts)


def _require_column(name: str, columns: Sequence[str], *, there: bool) -> None:
    if not there:
        message = f"the file must have the column {name!r} (got {', '.join(columns) or 'none'})"
        raise FormatError(message, kind="MissingField", field=name)


def _wrong(line: int, expected: str, found: str) -> FormatError:
    message = f"line {line} must have {expected} (got {found})"
    return FormatError(message, kind="WrongType", line=line)
