"""Pairs of captions that people judge: the plan of a study, its files, and what people answered."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from capeval._internal.atomic_write import written_whole
from capeval._internal.csv_escape import original, plain_row
from capeval.data.captions import ImageId
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.rows import columns
from capeval.formats.io.sources import LIMIT, File, naming
from capeval.formats.judgments.ratings import image_ids

__all__ = [
    "CLASSES",
    "PAIR_CHOICES",
    "Pair",
    "Plan",
    "Triplet",
    "load_pair_votes",
    "load_pairs",
    "load_plan",
    "load_votes",
    "plan_files",
    "write_plan",
]

CLASSES = ("HC", "HI", "HM", "MM")
"""Human and human, both correct; human and human, one of another image; human and machine; two machines."""

PAIR_CHOICES = {"first": 1, "second": -1, "equal": 0}
"""The votes for a pair's candidates, by what files of votes call them."""

_PAIR_COLUMNS = ("pair", "image_id", "class", "first", "second", "first_by", "second_by")
_TRIPLET_COLUMNS = ("triplet", "pair", "reference", "left", "right", "on_the_left", "judgments")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two candidates of an image, to be judged or with the votes of people.

    Attributes:
        image: The image that they are judged for.
        first: The candidate that a vote of 1 is for: B in the CIDEr paper.
        second: The candidate that a vote of -1 is for: C in the CIDEr paper.
        kind: One of `CLASSES`, where it is known.
        first_by: What wrote the first, where it is known: a machine's name, `human`, or `other` (a person who
            described another image).
        second_by: What wrote the second.
        references: The reference sentences, A in the CIDEr paper.
        votes: 1, -1, or 0 for neither. In the triplet protocol there is one for each reference, in its order;
            else one for each person.
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
        pair: The place of the pair in the plan.
        reference: The reference sentence, A in the CIDEr paper.
        left: The candidate shown on the left.
        right: The candidate shown on the right.
        on_the_left: Which candidate of the pair is on the left.
        judgments: How many people to ask.
    """

    pair: int
    reference: str
    left: str
    right: str
    on_the_left: Literal["first", "second"]
    judgments: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What people are to judge.

    Attributes:
        pairs: The pairs.
        triplets: The questions, in the order in which they are asked.
    """

    pairs: tuple[Pair, ...]
    triplets: tuple[Triplet, ...]


def plan_files(folder: Path) -> tuple[Path, Path]:
    """The paths of a plan's pairs and triplets in a folder."""
    return folder / "pairs.csv", folder / "triplets.csv"


def write_plan(plan: Plan, folder: Path) -> tuple[Path, Path]:
    """Writes a plan as `pairs.csv` and `triplets.csv`.

    An apostrophe goes before text that a spreadsheet would run as a formula; `load_plan` removes it.

    Returns:
        The paths of both files.

    Raises:
        OSError: A file can't be written.
    """
    pairs = (
        (number, str(pair.image), pair.kind, pair.first, pair.second, pair.first_by, pair.second_by)
        for number, pair in enumerate(plan.pairs)
    )
    triplets = (
        (number, each.pair, each.reference, each.left, each.right, each.on_the_left, each.judgments)
        for number, each in enumerate(plan.triplets)
    )
    paths = plan_files(folder)
    _write(paths[0], _PAIR_COLUMNS, pairs)
    _write(paths[1], _TRIPLET_COLUMNS, triplets)
    return paths


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    text = io.StringIO()
    # All text is quoted: with "\n" as line end, csv would not quote text with a carriage return.
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(names)
    writer.writerows(map(plain_row, rows))
    with written_whole(path) as file:
        file.write(text.getvalue().encode("utf-8", "surrogateescape"))


def load_plan(pairs: File, triplets: File, *, limit: int = LIMIT) -> Plan:
    """Reads a plan from the two files that `write_plan` wrote.

    Args:
        pairs: The path of `pairs.csv`, or its bytes.
        triplets: The path of `triplets.csv`, or its bytes.
        limit: The most bytes that a file may have, also unpacked.

    Raises:
        FormatError: A file is something else, or a triplet names a pair that is not in the plan; the error
            says which line.
        OSError: A file can't be read.
    """
    planned = load_pairs(pairs, limit=limit)
    with naming(triplets, "triplets.csv"):
        questions = tuple(
            _triplet(row, place, len(planned), line)
            for place, (line, row) in enumerate(columns(triplets, _TRIPLET_COLUMNS, limit))
        )
    return Plan(pairs=planned, triplets=questions)


def load_pairs(file: File, *, limit: int = LIMIT) -> tuple[Pair, ...]:
    """Reads the pairs of a plan from the file that `write_plan` wrote.

    Image ids are integers where all are integers written plainly.

    Args:
        file: The path of `pairs.csv`, or its bytes.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: The file is something else; the error says which line.
        OSError: The file can't be read.
    """
    rows: list[list[str]] = []
    with naming(file, "pairs.csv"):
        for line, (number, *texts) in columns(file, _PAIR_COLUMNS, limit):
            _number(number, "pair", range(len(rows), len(rows) + 1), line)
            rows.append([original(text) for text in texts])
    return tuple(
        Pair(
            image=image,
            kind=kind,
            first=first,
            second=second,
            first_by=first_by,
            second_by=second_by,
        )
        for image, (_, kind, first, second, first_by, second_by) in zip(
            image_ids([row[0] for row in rows]), rows, strict=True
        )
    )


def _triplet(row: Sequence[str], place: int, pairs: int, line: int) -> Triplet:
    number, pair, reference, left, right, side, judgments = row
    _number(number, "triplet", range(place, place + 1), line)
    return Triplet(
        pair=_number(pair, "pair", range(pairs), line),
        reference=original(reference),
        left=original(left),
        right=original(right),
        on_the_left="first" if _is_first(side, ("first", "second"), line) else "second",
        judgments=_whole(judgments, "judgments", line),
    )


def load_votes(file: File, plan: Plan, *, name: str = "", limit: int = LIMIT) -> tuple[tuple[int, ...], ...]:
    """The answers that people gave to the triplets of a plan.

    Args:
        file: The path of a CSV file with one answer in each row, or its bytes. Its columns are `triplet`
            (its number) and `choice` (`left` or `right`); others, such as who answered, are not read.
        plan: The plan.
        name: A name for bytes, for errors.
        limit: The most bytes that the file may have, also unpacked.

    Returns:
        The answers to each triplet, 1 for the pair's first candidate and -1 for the second.

    Raises:
        FormatError: The file is something else, or names a triplet that is not in the plan; the error says
            which line.
        OSError: The file can't be read.
    """
    answers: list[list[int]] = [[] for _ in plan.triplets]
    with naming(file, name):
        for line, (number, choice) in columns(file, ("triplet", "choice"), limit):
            triplet = _number(number, "triplet", range(len(answers)), line)
            left = _is_first(choice, ("left", "right"), line)
            answers[triplet].append(1 if left == (plan.triplets[triplet].on_the_left == "first") else -1)
    return tuple(map(tuple, answers))


def load_pair_votes(
    file: File, pairs: Sequence[Pair], *, name: str = "", limit: int = LIMIT
) -> tuple[tuple[int, ...], ...]:
    """The answers of people who saw an image and both captions of a pair.

    Args:
        file: The path of a CSV file with one answer in each row, or its bytes. Its columns are `pair` (its
            number) and `choice` (`first`, `second` or `equal`); others, such as who answered, are not read.
        pairs: The pairs of the plan.
        name: A name for bytes, for errors.
        limit: The most bytes that the file may have, also unpacked.

    Returns:
        The answers to each pair in the file's order: 1 for the first candidate, -1 for the second, 0 for
        neither.

    Raises:
        FormatError: The file is something else, or names a pair that is not in the plan; the error says
            which line.
        OSError: The file can't be read.
    """
    answers: list[list[int]] = [[] for _ in pairs]
    with naming(file, name):
        for line, (number, choice) in columns(file, ("pair", "choice"), limit):
            pair = _number(number, "pair", range(len(answers)), line)
            if choice not in PAIR_CHOICES:
                message = f"line {line} must say first, second or equal (got {choice!r})"
                raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, line=line)
            answers[pair].append(PAIR_CHOICES[choice])
    return tuple(map(tuple, answers))


def _number(text: str, name: str, known: range, line: int) -> int:
    if not text.isdecimal() or int(text) not in known:
        message = f"line {line}: {name!r} must be a number of the plan (got {text!r})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, field=name, line=line)
    return int(text)


def _whole(text: str, name: str, line: int) -> int:
    if not text.isdecimal():
        message = f"line {line}: {name!r} must be a whole number (got {text!r})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, field=name, line=line)
    return int(text)


def _is_first(text: str, known: tuple[str, str], line: int) -> bool:
    if text not in known:
        message = f"line {line} must say {' or '.join(known)} (got {text!r})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, line=line)
    return text == known[0]
