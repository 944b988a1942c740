"""Original captions and ratings of Flickr8K (Hodosh, Young and Hockenmaier 2013)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from capeval.data.captions import References
from capeval.data.scores import FloatArray
from capeval.formats.io.rows import make_line_error, text_lines
from capeval.formats.io.sources import File, add_path_to_errors
from capeval.formats.judgments.ratings import Ratings, require_ratings

__all__ = [
    "load_crowdflower_votes",
    "load_flickr8k",
    "load_flickr8k_crowdflower",
    "load_flickr8k_expert",
]

_SCALE = ("1", "2", "3", "4")
# Shares in the file have 15 digits.
_ROUNDING = 1e-9
_SHARE = "the share of yes, the number of yes and the number of no"


@dataclass(frozen=True)
class _Captions:
    """The captions of all images.

    Attributes:
        texts: The captions by id, such as `image.jpg#0`.
        of_image: The captions of each image.
    """

    texts: dict[str, str]
    of_image: dict[str, list[str]]


@dataclass(frozen=True)
class _Row:
    """A line of a rating file: an image, the id of a caption, and three numbers."""

    line: int
    image: str
    caption: str
    numbers: Sequence[str]


def load_flickr8k(ratings: File, captions: File) -> tuple[References, Ratings]:
    r"""Read expert ratings or CrowdFlower judgments of Flickr8K, depending on the file.

    No line is valid in both formats. The three ratings of experts are each 1, 2, 3 or 4. In a CrowdFlower
    line, a share of 1 requires 0 votes against.

    Args:
        ratings: `ExpertAnnotations.txt` or `CrowdFlowerAnnotations.txt`: the path of the file, or its bytes.
        captions: `Flickr8k.token.txt`: the path of the file, or its bytes.

    Returns:
        The result of `load_flickr8k_expert` or `load_flickr8k_crowdflower`.

    Raises:
        FormatError: A file is invalid; the error names the line.
        OSError: A file can't be read.

    Example:
        These ratings are from experts:

        >>> from capeval.datasets.flickr8k import load_flickr8k
        >>> captions = b"1.jpg#0\tA dog runs .\n2.jpg#0\tTwo cats sleep .\n"
        >>> references, ratings = load_flickr8k(b"1.jpg\t2.jpg#0\t1\t1\t2\n", captions)
        >>> ratings.captions, ratings.values.tolist()
        (('Two cats sleep .',), [[1.0, 1.0, 2.0]])
    """
    texts = _read_captions(captions)
    with add_path_to_errors(ratings):
        rows = _read_rows(ratings, texts)
        first = rows[0]
        if _is_expert(first.numbers):
            return _parse_expert(rows, texts, own=False)
        if _parse_share(first.numbers) is not None:
            return _parse_crowdflower(rows, texts)
        expected = "three ratings from 1 to 4, or the share of yes, the number of yes and the number of no"
        raise make_line_error(first.line, expected, ", ".join(first.numbers))


def load_flickr8k_expert(ratings: File, captions: File, *, own: bool = False) -> tuple[References, Ratings]:
    r"""Read the expert ratings of Flickr8K.

    Args:
        ratings: `ExpertAnnotations.txt`, the path of the file or its bytes. Its columns, separated by tabs,
            are the image, the caption id, and three ratings from 1 to 4.
        captions: `Flickr8k.token.txt`. Its columns, separated by tabs, are the caption id (`IMAGE#NUMBER`)
            and the caption.
        own: Whether to include candidates that are captions of the same image. Published correlations exclude
            them.

    Returns:
        All captions of the rated images as references, and the ratings.

    Raises:
        FormatError: A file is invalid; the error names the line.
        OSError: A file can't be read.

    Example:
        Three experts rated a caption of `2.jpg` for the image `1.jpg`:

        >>> from capeval.datasets.flickr8k import load_flickr8k_expert
        >>> captions = b"1.jpg#0\tA dog runs .\n1.jpg#1\tA dog outside .\n2.jpg#0\tTwo cats sleep .\n"
        >>> references, ratings = load_flickr8k_expert(b"1.jpg\t2.jpg#0\t1\t1\t2\n", captions)
        >>> references["1.jpg"]
        ['A dog runs .', 'A dog outside .']
        >>> ratings.captions, ratings.values.tolist()
        (('Two cats sleep .',), [[1.0, 1.0, 2.0]])
    """
    texts = _read_captions(captions)
    with add_path_to_errors(ratings):
        return _parse_expert(_read_rows(ratings, texts), texts, own=own)


def load_flickr8k_crowdflower(ratings: File, captions: File) -> tuple[References, Ratings]:
    r"""Read the CrowdFlower judgments of Flickr8K.

    Each row has one rating: the share of people who confirmed that the caption describes the image. As in
    published correlations, candidates are excluded from their references: in the order of the rows, each
    candidate that equals a remaining caption of its image removes one such caption from the image's
    references.

    Args:
        ratings: `CrowdFlowerAnnotations.txt`, the path of the file or its bytes. Its columns, separated by
            tabs, are the image, the caption id, the share of yes, the number of yes, and the number of no.
        captions: `Flickr8k.token.txt`. Its columns, separated by tabs, are the caption id (`IMAGE#NUMBER`)
            and the caption.

    Returns:
        The remaining captions of the rated images as references, and the ratings.

    Raises:
        FormatError: A file is invalid, or no caption of an image remains; the error names the line.
        OSError: A file can't be read.

    Example:
        Two of three people confirmed a caption of `1.jpg`, which is excluded from the references:

        >>> from capeval.datasets.flickr8k import load_flickr8k_crowdflower
        >>> captions = b"1.jpg#0\tA dog runs .\n1.jpg#1\tA dog outside .\n"
        >>> judgments = b"1.jpg\t1.jpg#0\t0.666666666666667\t2\t1\n"
        >>> references, ratings = load_flickr8k_crowdflower(judgments, captions)
        >>> references["1.jpg"]
        ['A dog outside .']
        >>> ratings.captions, ratings.values.round(3).tolist()
        (('A dog runs .',), [[0.667]])
    """
    texts = _read_captions(captions)
    with add_path_to_errors(ratings):
        return _parse_crowdflower(_read_rows(ratings, texts), texts)


def load_crowdflower_votes(ratings: File) -> FloatArray:
    r"""Read the votes of the CrowdFlower judgments of Flickr8K.

    Args:
        ratings: `CrowdFlowerAnnotations.txt`, the path of the file or its bytes.

    Returns:
        The votes, 1 for yes and 0 for no; captions by votes, in the order of `load_flickr8k_crowdflower`, NaN
        for captions with fewer votes.

    Raises:
        FormatError: The file is invalid; the error names the line.
        OSError: The file can't be read.

    Example:
        >>> from capeval.datasets.flickr8k import load_crowdflower_votes
        >>> load_crowdflower_votes(b"1.jpg\t1.jpg#0\t0.666666666666667\t2\t1\n").tolist()
        [[1.0, 1.0, 0.0]]
    """
    counts = []
    with add_path_to_errors(ratings):
        for line, fields in _split_lines(ratings, 5):
            if _parse_share(fields[2:]) is None:
                raise make_line_error(line, _SHARE, ", ".join(fields[2:]))
            counts.append((int(fields[3]), int(fields[4])))
    most = max((yes + no for yes, no in counts), default=0)
    votes = np.full((len(counts), most), np.nan)
    for row, (yes, no) in enumerate(counts):
        votes[row, :yes], votes[row, yes : yes + no] = 1, 0
    return votes


def _read_captions(file: File) -> _Captions:
    texts: dict[str, str] = {}
    of_image: dict[str, list[str]] = {}
    with add_path_to_errors(file):
        for line, (name, caption) in _split_lines(file, 2):
            if "#" not in name or name in texts:
                raise make_line_error(line, "a new caption id such as image.jpg#0", repr(name))
            texts[name] = caption
            of_image.setdefault(_get_image(name), []).append(caption)
    return _Captions(texts, of_image)


def _read_rows(file: File, captions: _Captions) -> list[_Row]:
    rows = []
    for line, (image, caption, *numbers) in _split_lines(file, 5):
        if image not in captions.of_image or caption not in captions.texts:
            unknown = caption if image in captions.of_image else image
            raise make_line_error(line, "an image and a caption of the captions file", repr(unknown))
        rows.append(_Row(line, image, caption, numbers))
    require_ratings([row.image for row in rows])
    return rows


def _parse_expert(rows: Sequence[_Row], captions: _Captions, *, own: bool) -> tuple[References, Ratings]:
    for row in rows:
        if not _is_expert(row.numbers):
            raise make_line_error(row.line, "three ratings from 1 to 4", ", ".join(row.numbers))
    rated = [row for row in rows if own or _get_image(row.caption) != row.image]
    require_ratings([row.image for row in rated])
    references = {row.image: captions.of_image[row.image] for row in rated}
    return References(references), _build_ratings(
        rated, captions, [list(map(float, row.numbers)) for row in rated]
    )


def _parse_crowdflower(rows: Sequence[_Row], captions: _Captions) -> tuple[References, Ratings]:
    references = {row.image: list(captions.of_image[row.image]) for row in rows}
    shares = []
    for row in rows:
        share = _parse_share(row.numbers)
        if share is None:
            raise make_line_error(row.line, _SHARE, ", ".join(row.numbers))
        shares.append([share])
        candidate, left = captions.texts[row.caption], references[row.image]
        if candidate in left:
            left.remove(candidate)
        if not left:
            expected = f"a candidate that is not the last remaining caption of {row.image!r}"
            raise make_line_error(row.line, expected, repr(row.caption))
    return References(references), _build_ratings(rows, captions, shares)


def _build_ratings(rows: Sequence[_Row], captions: _Captions, values: list[list[float]]) -> Ratings:
    return Ratings(
        image_ids=tuple(row.image for row in rows),
        captions=tuple(captions.texts[row.caption] for row in rows),
        values=np.array(values, dtype=np.float64),
    )


def _is_expert(numbers: Sequence[str]) -> bool:
    return all(number in _SCALE for number in numbers)


def _parse_share(numbers: Sequence[str]) -> float | None:
    """Return the share of yes, or None if it does not match the two numbers of votes."""
    try:
        share, yes, no = float(numbers[0]), int(numbers[1]), int(numbers[2])
    except ValueError:
        return None
    if min(yes, no) < 0 or yes + no == 0 or not abs(share - yes / (yes + no)) <= _ROUNDING:
        return None
    return share


def _get_image(caption: str) -> str:
    return caption.rpartition("#")[0]


def _split_lines(file: File, count: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line, and its fields, separated by tabs and not quoted."""
    for number, line in text_lines(file):
        fields = line.split("\t")
        if len(fields) != count:
            raise make_line_error(number, f"{count} columns separated by tabs", str(len(fields)))
        yield number, fields
