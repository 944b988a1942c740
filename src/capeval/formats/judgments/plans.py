"""Study plans: pairs of captions to judge, their files and the votes on them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from capeval._internal.atomic_write import atomic_write
from capeval._internal.csv_escape import escape_row, unescape_cell
from capeval.data.captions import ImageId
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.rows import column, read_columns
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors
from capeval.formats.judgments.judgment_tables import COUNTED, Rows, iterate_counted, read_judgments
from capeval.formats.judgments.ratings import image_ids

__all__ = [
    "CLASSES",
    "PAIR_CHOICES",
    "Pair",
    "Plan",
    "Triplet",
    "get_plan_paths",
    "load_pair_votes",
    "load_pairs",
    "load_plan",
    "load_votes",
    "write_plan",
]

CLASSES = ("HC", "HI", "HM", "MM")
"""Pair classes: two human captions, both correct; two human captions, one of a different image; a human and a
machine caption; two machine captions."""

PAIR_CHOICES = {"first": 1, "second": -1, "equal": 0}
"""The vote for each value of the column `choice` in vote files."""

_PAIR_COLUMNS = ("pair", "image_id", "class", "first", "second", "first_by", "second_by")
_TRIPLET_COLUMNS = ("triplet", "pair", "reference", "left", "right", "on_the_left", "judgments")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two candidates of an image, before or after people vote on them.

    Attributes:
        image: The image for which the candidates are judged.
        first: The candidate that a vote of 1 prefers, B in the CIDEr paper.
        second: The candidate that a vote of -1 prefers, C in the CIDEr paper.
        kind: One of `CLASSES`; None if unknown.
        first_by: The author of `first`: a machine's name, `human`, or `other` for a person who described a
            different image; None if unknown.
        second_by: The author of `second`.
        references: The reference sentences, A in the CIDEr paper.
        votes: The votes: 1, -1, or 0 for neither. The triplet protocol has one vote per reference, in order;
            otherwise there is one vote per person.
    """

    image: ImageId
    first: str
    second: str
    kind: str | None = None
    first_by: str | None = None
    second_by: str | None = None
    references: tuple[str, ...] = ()
    votes: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Triplet:
    """One question: which of two candidates is more similar to the reference?

    Attributes:
        pair: The position of the pair in the plan.
        reference: The reference sentence, A in the CIDEr paper.
        left: The candidate shown on the left.
        right: The candidate shown on the right.
        on_the_left: The candidate of the pair that is shown on the left.
        judgments: The number of people to ask.
    """

    pair: int
    reference: str
    left: str
    right: str
    on_the_left: Literal["first", "second"]
    judgments: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A study plan: pairs of captions, and the questions about them.

    Attributes:
        pairs: The pairs.
        triplets: The questions, in the order in which they are asked.
    """

    pairs: tuple[Pair, ...]
    triplets: tuple[Triplet, ...]


def get_plan_paths(folder: Path) -> tuple[Path, Path]:
    """Return the paths of a plan's pairs and triplets in a folder.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.judgments.plans import get_plan_paths
        >>> [path.as_posix() for path in get_plan_paths(Path("study"))]
        ['study/pairs.csv', 'study/triplets.csv']
    """
    return folder / "pairs.csv", folder / "triplets.csv"


def write_plan(plan: Plan, folder: Path) -> tuple[Path, Path]:
    """Write a plan as `pairs.csv` and `triplets.csv`.

    Text that a spreadsheet would run as a formula is escaped with an apostrophe; `load_plan` removes it.

    Returns:
        The paths of both files.

    Raises:
        OSError: A file can't be written.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.judgments.plans import Pair, Plan, Triplet, write_plan
        >>> dog, cat = "A dog runs.", "A cat sleeps."
        >>> pair = Pair(image=1, first=dog, second=cat, kind="HI", first_by="human", second_by="other")
        >>> triplet = Triplet(
        ...     pair=0, reference="The dog.", left=cat, right=dog, on_the_left="second", judgments=3
        ... )
        >>> pairs, triplets = write_plan(Plan(pairs=(pair,), triplets=(triplet,)), Path("."))
        >>> print(triplets.read_text(), end="")
        "triplet","pair","reference","left","right","on_the_left","judgments"
        0,0,"The dog.","A cat sleeps.","A dog runs.","second",3
    """
    pairs = (
        (number, str(pair.image), pair.kind, pair.first, pair.second, pair.first_by, pair.second_by)
        for number, pair in enumerate(plan.pairs)
    )
    triplets = (
        (number, each.pair, each.reference, each.left, each.right, each.on_the_left, each.judgments)
        for number, each in enumerate(plan.triplets)
    )
    paths = get_plan_paths(folder)
    _write(paths[0], _PAIR_COLUMNS, pairs)
    _write(paths[1], _TRIPLET_COLUMNS, triplets)
    return paths


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    text = io.StringIO()
    # All text is quoted: with the line terminator "\n", csv would not quote text with a carriage return.
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(names)
    writer.writerows(map(escape_row, rows))
    with atomic_write(path) as file:
        file.write(text.getvalue().encode("utf-8", "surrogateescape"))


def load_plan(pairs: File, triplets: File, *, limit: int = LIMIT) -> Plan:
    """Read a plan from the two files of `write_plan`.

    Args:
        pairs: The path of `pairs.csv`, or its bytes.
        triplets: The path of `triplets.csv`, or its bytes.
        limit: The maximum size of a file in bytes, also after decompression.

    Raises:
        FormatError: A file is invalid, or a triplet names a pair that is not in the plan; the error names the
            line.
        OSError: A file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.judgments.plans import Pair, Plan, Triplet, load_plan, write_plan
        >>> pair = Pair(image=1, first="A dog.", second="A cat.", kind="MM", first_by="A", second_by="B")
        >>> triplet = Triplet(
        ...     pair=0, reference="The dog.", left="A cat.", right="A dog.", on_the_left="second", judgments=3
        ... )
        >>> plan = Plan(pairs=(pair,), triplets=(triplet,))
        >>> pairs, triplets = write_plan(plan, Path("."))
        >>> load_plan(pairs, triplets) == plan
        True
    """
    planned = load_pairs(pairs, limit=limit)
    with add_path_to_errors(triplets, "triplets.csv"):
        questions = tuple(
            _parse_triplet(row, place, len(planned), line)
            for place, (line, row) in enumerate(read_columns(triplets, _TRIPLET_COLUMNS, limit))
        )
    return Plan(pairs=planned, triplets=questions)


def load_pairs(file: File, *, limit: int = LIMIT) -> tuple[Pair, ...]:
    r"""Read the pairs of a plan from the file of `write_plan`.

    Image ids are integers if all of them are integers in canonical form.

    Args:
        file: The path of `pairs.csv`, or its bytes.
        limit: The maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file is invalid; the error names the line.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.judgments.plans import load_pairs
        >>> columns = "pair,image_id,class,first,second,first_by,second_by"
        >>> _ = Path("pairs.csv").write_text(f"{columns}\n0,1,HM,A dog runs.,A dog.,human,captioner\n")
        >>> [pair] = load_pairs("pairs.csv")
        >>> pair.image, pair.kind, pair.first, pair.second_by
        (1, 'HM', 'A dog runs.', 'captioner')
    """
    rows: list[list[str]] = []
    with add_path_to_errors(file, "pairs.csv"):
        for line, (number, *texts) in read_columns(file, _PAIR_COLUMNS, limit):
            _parse_number(number, "pair", range(len(rows), len(rows) + 1), line)
            rows.append([unescape_cell(text) for text in texts])
    return tuple(
        Pair(
            image=image,
            kind=kind or None,
            first=first,
            second=second,
            first_by=first_by or None,
            second_by=second_by or None,
        )
        for image, (_, kind, first, second, first_by, second_by) in zip(
            image_ids([row[0] for row in rows]), rows, strict=True
        )
    )


def _parse_triplet(row: Sequence[str], place: int, pairs: int, line: int) -> Triplet:
    number, pair, reference, left, right, side, judgments = row
    _parse_number(number, "triplet", range(place, place + 1), line)
    return Triplet(
        pair=_parse_number(pair, "pair", range(pairs), line),
        reference=unescape_cell(reference),
        left=unescape_cell(left),
        right=unescape_cell(right),
        on_the_left="first" if _is_first(side, ("first", "second"), line) else "second",
        judgments=_parse_integer(judgments, "judgments", line),
    )


def load_votes(file: File, plan: Plan, *, name: str = "", limit: int = LIMIT) -> tuple[tuple[int, ...], ...]:
    r"""Read votes on the triplets of a plan.

    Args:
        file: The path of a file with one vote per row, or its bytes: CSV, or Parquet, which requires pyarrow.
            Its columns are `triplet` (the number) and `choice` (`left` or `right`, or a caption of the pair:
            `first` or `second`). Of a release's `judgments.csv`, the rows that count are read. Other columns,
            such as the annotator, are ignored.
        plan: The plan.
        name: A name for bytes, for error messages.
        limit: The maximum size of the file in bytes, also after decompression.

    Returns:
        The votes on each triplet: 1 for the pair's first candidate, and -1 for the second.

    Raises:
        FormatError: The file is invalid, or names a triplet that is not in the plan; the error names the
            line.
        OSError: The file can't be read.

    Example:
        The pair's second caption is on the left, so a vote for the left is -1:

        >>> from pathlib import Path
        >>> from capeval.formats.judgments.plans import Pair, Plan, Triplet, load_votes
        >>> pair = Pair(image=1, first="A dog.", second="A cat.")
        >>> triplet = Triplet(
        ...     pair=0, reference="The dog.", left="A cat.", right="A dog.", on_the_left="second", judgments=3
        ... )
        >>> _ = Path("votes.csv").write_text("triplet,choice\n0,right\n0,right\n0,left\n")
        >>> load_votes("votes.csv", Plan(pairs=(pair,), triplets=(triplet,)))
        ((1, 1, -1),)
    """
    answers: list[list[int]] = [[] for _ in plan.triplets]
    with add_path_to_errors(file, name):
        for line, (number, choice) in _read_votes(file, "triplet", limit):
            triplet = _parse_number(number, "triplet", range(len(answers)), line)
            if choice in ("first", "second"):
                answers[triplet].append(PAIR_CHOICES[choice])
                continue
            left = _is_first(choice, ("left", "right"), line)
            answers[triplet].append(1 if left == (plan.triplets[triplet].on_the_left == "first") else -1)
    return tuple(map(tuple, answers))


def load_pair_votes(
    file: File, pairs: Sequence[Pair], *, name: str = "", limit: int = LIMIT
) -> tuple[tuple[int, ...], ...]:
    r"""Read votes on pairs, shown with their image and both captions.

    Args:
        file: The path of a file with one vote per row, or its bytes: CSV, or Parquet, which requires pyarrow.
            Its columns are `pair` (the number) and `choice` (`first`, `second` or `equal`). Of a release's
            `judgments.csv`, the rows that count are read. Other columns, such as the annotator, are ignored.
        pairs: The pairs of the plan.
        name: A name for bytes, for error messages.
        limit: The maximum size of the file in bytes, also after decompression.

    Returns:
        The votes on each pair in the order of the file: 1 for the first candidate, -1 for the second, and 0
        for neither.

    Raises:
        FormatError: The file is invalid, or names a pair that is not in the plan; the error names the line.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.judgments.plans import Pair, load_pair_votes
        >>> dogs = Pair(image=1, first="A dog runs.", second="A cat.")
        >>> cars = Pair(image=2, first="A bus.", second="A red car.")
        >>> _ = Path("votes.csv").write_text("pair,choice\n0,first\n0,equal\n1,second\n")
        >>> load_pair_votes("votes.csv", [dogs, cars])
        ((1, 0), (-1,))
    """
    answers: list[list[int]] = [[] for _ in pairs]
    with add_path_to_errors(file, name):
        for line, (number, choice) in _read_votes(file, "pair", limit):
            pair = _parse_number(number, "pair", range(len(answers)), line)
            if choice not in PAIR_CHOICES:
                message = f"line {line}: 'choice' must be first, second or equal (got {choice!r})"
                raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, line=line)
            answers[pair].append(PAIR_CHOICES[choice])
    return tuple(map(tuple, answers))


def _read_votes(file: File, numbered: str, limit: int) -> Iterator[tuple[int, list[str]]]:
    """Yield line, number and choice of each vote; of a table of judgments, only those that count."""
    header, rows = read_judgments(file, limit)
    places = [column(header, name) for name in (numbered, "choice")]
    if COUNTED in header:
        rows = iterate_counted(rows, header.index(COUNTED))
        if numbered == "pair":
            rows = _require_pair_votes(rows, column(header, "triplet"))
    yield from ((line, [row[place] for place in places]) for line, row in rows)


def _require_pair_votes(rows: Rows, triplet: int) -> Iterator[tuple[int, list[str]]]:
    """Reject votes on triplets: the answers to a triplet are one vote on its pair, not several."""
    for line, row in rows:
        if row[triplet]:
            message = (
                f"line {line} is a vote on a triplet, not on a pair; use 'load_votes'"
                " (on the command line: no --pairwise)"
            )
            raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, field="triplet", line=line)
        yield line, row


def _parse_number(text: str, name: str, known: range, line: int) -> int:
    if not text.isdecimal() or int(text) not in known:
        message = f"line {line}: {name!r} must be the number of a {name} in the plan (got {text!r})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, field=name, line=line)
    return int(text)


def _parse_integer(text: str, name: str, line: int) -> int:
    if not text.isdecimal():
        message = f"line {line}: {name!r} must be a nonnegative integer (got {text!r})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, field=name, line=line)
    return int(text)


def _is_first(text: str, known: tuple[str, str], line: int) -> bool:
    if text not in known:
        message = f"line {line}: the choice must be {' or '.join(known)} (got {text!r})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, line=line)
    return text == known[0]
