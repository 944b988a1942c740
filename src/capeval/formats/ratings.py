"""Tables of human ratings of captions: CSV, and the files of Flickr8K-Expert."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from capeval.errors import CaptionError, FormatError, FormatErrorKind
from capeval.formats.rows import column, read_table, text_lines
from capeval.formats.sources import LIMIT, File, naming
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


def load_ratings(file: File, *, name: str = "", limit: int = LIMIT) -> Ratings:
    """Ratings from a table with a row for each caption.

    The file is CSV, with commas or tabs between the columns, and may be in gzip. Its first line names the
    columns: `image_id`, `caption`, one or more whose names begin with `rating` (a column for each rater;
    an empty field is no rating), and optionally `system`. Other columns are not read. Image ids are
    integers where all are integers written plainly.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes, for errors.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: The file is something else; the error says which line.
        OSError: The file can't be read.
    """
    images, captions, systems, values = [], [], [], []
    with naming(file, name):
        header, rows = read_table(file, limit)
        image_id, caption = column(header, "image_id"), column(header, "caption")
        raters = [place for place, title in enumerate(header) if title.startswith("rating")]
        # Where there is none, the error names the first one.
        raters = raters or [column(header, "rating")]
        system = header.index("system") if "system" in header else None
        for line, row in rows:
            images.append(row[image_id])
            captions.append(row[caption])
            values.append([_rating(row[place], line) for place in raters])
            if np.isnan(values[-1]).all():
                raise _wrong(line, "a rating", "none")
            if system is not None:
                systems.append(row[system])
                if not row[system]:
                    raise _wrong(line, "a system", "none")
        _require_ratings(images)
    return Ratings(
        image_ids=image_ids(images),
        captions=tuple(captions),
        values=np.array(values, dtype=np.float64),
        systems=tuple(systems),
    )


def load_flickr8k_expert(ratings: File, captions: File, *, own: bool = False) -> tuple[References, Ratings]:
    """The expert ratings of Flickr8K (Hodosh, Young and Hockenmaier 2013), as their authors publish them.

    Args:
        ratings: `ExpertAnnotations.txt`: image, caption's id, three ratings from 1 to 4, with tabs. The
            path of the file, or its bytes.
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
    with naming(captions):
        for line, (name, caption) in _tabbed(captions, 2):
            if "#" not in name or name in texts:
                raise _wrong(line, "a new caption's id such as image.jpg#0", repr(name))
            texts[name] = caption
            groups.setdefault(name.rpartition("#")[0], []).append(caption)
    images: list[str] = []
    candidates, values = [], []
    with naming(ratings):
        for line, (image, name, *scores) in _tabbed(ratings, 5):
            if image not in groups or name not in texts:
                unknown = name if image in groups else image
                raise _wrong(line, "an image and a caption of the other file", repr(unknown))
            if own or name.rpartition("#")[0] != image:
                images.append(image)
                candidates.append(texts[name])
                values.append([_rating(score, line) for score in scores])
        _require_ratings(images)
    references = References({image: groups[image] for image in dict.fromkeys(images)})
    return references, Ratings(
        image_ids=tuple(images), captions=tuple(candidates), values=np.array(values, dtype=np.float64)
    )


def _tabbed(file: File, count: int) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line, which tabs separate and nothing quotes, with the line's number."""
    for number, line in text_lines(file):
        fields = line.split("\t")
        if len(fields) != count:
            raise _wrong(number, f"{count} columns with tabs between them", str(len(fields)))
        yield number, fields


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


def _require_ratings(images: Sequence[str]) -> None:
    if not images:
        message = "the file must have at least one rating (got none)"
        raise FormatError(message, kind=FormatErrorKind.NO_RATINGS)


def _wrong(line: int, expected: str, found: str) -> FormatError:
    message = f"line {line} must have {expected} (got {found})"
    return FormatError(message, kind=FormatErrorKind.WRONG_TYPE, line=line)
