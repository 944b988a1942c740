"""Tables of what people think of systems: `human.csv`, a row for each system and question."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from capeval.errors import FormatError, FormatErrorKind
from capeval.files import written_whole
from capeval.formats.rows import columns, wrong_line
from capeval.formats.sources import LIMIT, File, naming
from capeval.spreadsheets import original, plain

__all__ = ["HumanScore", "human_scores_text", "load_human_scores", "write_human_scores"]

_TEXTS = ("submission", "system", "question", "release")
_NUMBERS = ("value", "low", "high", "images", "votes", "workers", "alpha")
_COLUMNS = (*_TEXTS[:3], *_NUMBERS, _TEXTS[3])


@dataclass(frozen=True, kw_only=True)
class HumanScore:
    """What people think of a system, by one question.

    Attributes:
        system: The system.
        question: The question, such as `M1`.
        value: The system's value.
        low: The lower end of its interval.
        high: The upper end.
        images: How many images were judged.
        votes: How many answers there are.
        workers: How many people answered, where it is known.
        alpha: Krippendorff's alpha of the answers; None where it is not defined.
        submission: The submission that was judged; empty outside of a challenge.
        release: The release of judgements that it is of; values of different releases are not comparable.
    """

    system: str
    question: str
    value: float
    low: float
    high: float
    images: int
    votes: int
    workers: int | None = None
    alpha: float | None = None
    submission: str = ""
    release: str = ""


def human_scores_text(scores: Sequence[HumanScore]) -> str:
    """The text of `human.csv`.

    An apostrophe goes before text that a spreadsheet would run as a formula; `load_human_scores` removes it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for score in scores:
        row = [getattr(score, name) for name in _COLUMNS]
        writer.writerow(
            ["" if cell is None else plain(cell) if isinstance(cell, str) else cell for cell in row]
        )
    return text.getvalue()


def write_human_scores(scores: Sequence[HumanScore], path: Path) -> None:
    """Writes `human.csv`.

    Raises:
        OSError: The file can't be written.
    """
    with written_whole(path) as file:
        file.write(human_scores_text(scores).encode("utf-8", "surrogateescape"))


def load_human_scores(file: File, *, name: str = "", limit: int = LIMIT) -> tuple[HumanScore, ...]:
    """Reads `human.csv`.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes, for errors.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: The file is something else, or has two values of a system for a question and release; the
            error says which line.
        OSError: The file can't be read.
    """
    scores: dict[tuple[str, str, str], HumanScore] = {}
    with naming(file, name):
        for line, row in columns(file, _COLUMNS, limit):
            fields = dict(zip(_COLUMNS, row, strict=True))
            score = _score(fields, line)
            key = (score.system, score.question, score.release)
            if key in scores:
                raise wrong_line(line, "another system, question or release than those before", repr(key))
            scores[key] = score
        if not scores:
            message = "the file must have at least one value (got none)"
            raise FormatError(message, kind=FormatErrorKind.NO_RATINGS)
    return tuple(scores.values())


def _score(fields: dict[str, str], line: int) -> HumanScore:
    texts = {name: original(fields[name]) for name in _TEXTS}
    for name in ("system", "question"):
        if not texts[name]:
            raise wrong_line(line, f"a {name}", "none")
    value, low, high = (_number(fields[name], name, line) for name in ("value", "low", "high"))
    images, votes = (_count(fields[name], name, line) for name in ("images", "votes"))
    return HumanScore(
        value=value,
        low=low,
        high=high,
        images=images,
        votes=votes,
        workers=_count(fields["workers"], "workers", line) if fields["workers"] else None,
        alpha=_number(fields["alpha"], "alpha", line) if fields["alpha"] else None,
        **texts,
    )


def _number(text: str, name: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise wrong_line(line, f"a number in the column {name!r}", repr(text))
    return value


def _count(text: str, name: str, line: int) -> int:
    if not text.isdecimal():
        raise wrong_line(line, f"a whole number in the column {name!r}", repr(text))
    return int(text)
