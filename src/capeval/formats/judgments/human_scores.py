"""Human scores of systems in `human.csv`, and differences in `differences.csv`."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from capeval._internal.atomic_write import atomic_write
from capeval._internal.csv_escape import escape_row, unescape_cell
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.rows import make_line_error, read_columns
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors

__all__ = [
    "HumanDifference",
    "HumanScore",
    "load_human_differences",
    "load_human_scores",
    "render_human_scores",
    "write_human_scores",
]

_TEXTS = ("submission", "system", "question", "release")
_NUMBERS = ("value", "low", "high", "images", "votes", "workers", "alpha")
_COLUMNS = (*_TEXTS[:3], *_NUMBERS, _TEXTS[3])
_OF_DIFFERENCES = ("question", "system", "next", "difference", "low", "high", "p_value")
# Releases of early versions lack these columns.
_METHOD_TEXTS = ("interval", "alpha_scale", "alpha_interval")
_ALPHA_ENDS = ("alpha_low", "alpha_high")
_METHODS = (_METHOD_TEXTS[0], *_ALPHA_ENDS, *_METHOD_TEXTS[1:])


@dataclass(frozen=True, kw_only=True)
class HumanScore:
    """The human score of a system for one question.

    Attributes:
        system: The system.
        question: The question, such as `M1`.
        value: The system's value.
        low: The lower end of its confidence interval.
        high: The upper end.
        images: The number of judged images.
        votes: The number of answers.
        workers: The number of annotators; None if unknown.
        alpha: Krippendorff's alpha of the answers; None if it is not defined.
        submission: The judged submission; empty outside a challenge.
        release: The release that contains the judgments; values of different releases are not comparable.
        interval: The level and method of the confidence interval, and the units that vary.
        alpha_low: The lower end of alpha's confidence interval; None if it is unknown.
        alpha_high: The upper end.
        alpha_scale: The scale of alpha: `nominal`, `ordinal` or `interval`.
        alpha_interval: The level and method of alpha's interval, and the units that vary.
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
    interval: str = ""
    alpha_low: float | None = None
    alpha_high: float | None = None
    alpha_scale: str = ""
    alpha_interval: str = ""


@dataclass(frozen=True, kw_only=True)
class HumanDifference:
    """The difference between a system and the next one for a question.

    Attributes:
        question: The question, such as `M1`.
        system: The system.
        next: The system with the next lower value.
        difference: The system's value minus the next system's value.
        low: The lower end of the difference's confidence interval.
        high: The upper end.
        p_value: The two-sided p-value of the hypothesis that there is no difference.
        test: The test of the p-value.
    """

    question: str
    system: str
    next: str
    difference: float
    low: float
    high: float
    p_value: float
    test: str = ""


def render_human_scores(scores: Sequence[HumanScore]) -> str:
    """Return the text of `human.csv`.

    Text that a spreadsheet would run as a formula is escaped with an apostrophe; `load_human_scores` removes
    it.

    Example:
        >>> from capeval.formats.judgments.human_scores import HumanScore, render_human_scores
        >>> score = HumanScore(
        ...     system="captioner", question="M1", value=0.62, low=0.55, high=0.69, images=100, votes=300
        ... )
        >>> for line in render_human_scores([score]).splitlines():
        ...     print(line[:77])
        submission,system,question,value,low,high,images,votes,workers,alpha,release,
        ,captioner,M1,0.62,0.55,0.69,100,300,,,,,,,,
    """
    return _render_csv(scores, (*_COLUMNS, *_METHODS))


def _render_csv(rows: Sequence[object], names: Sequence[str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        cells = (getattr(row, name) for name in names)
        writer.writerow(escape_row("" if cell is None else cell for cell in cells))
    return text.getvalue()


def write_human_scores(
    scores: Sequence[HumanScore], differences: Sequence[HumanDifference], folder: Path
) -> list[Path]:
    """Write `human.csv` and `differences.csv` to a folder, and return their paths.

    Raises:
        OSError: A file can't be written.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.judgments.human_scores import HumanDifference, HumanScore, write_human_scores
        >>> a = HumanScore(system="A", question="M1", value=0.6, low=0.5, high=0.7, images=100, votes=300)
        >>> b = HumanScore(system="B", question="M1", value=0.4, low=0.3, high=0.5, images=100, votes=300)
        >>> difference = HumanDifference(
        ...     question="M1", system="A", next="B", difference=0.2, low=0.1, high=0.3, p_value=0.01
        ... )
        >>> [path.name for path in write_human_scores([a, b], [difference], Path("."))]
        ['human.csv', 'differences.csv']
        >>> print(Path("differences.csv").read_text(), end="")
        question,system,next,difference,low,high,p_value,test
        M1,A,B,0.2,0.1,0.3,0.01,
    """
    texts = {
        folder / "human.csv": render_human_scores(scores),
        folder / "differences.csv": _render_csv(differences, (*_OF_DIFFERENCES, "test")),
    }
    for path, text in texts.items():
        with atomic_write(path) as file:
            file.write(text.encode("utf-8", "surrogateescape"))
    return list(texts)


def load_human_differences(file: File, *, name: str = "", limit: int = LIMIT) -> tuple[HumanDifference, ...]:
    r"""Read `differences.csv`, which has no rows if only one system was judged.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes, for error messages.
        limit: The maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file is invalid; the error names the line.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.judgments.human_scores import load_human_differences
        >>> columns = "question,system,next,difference,low,high,p_value"
        >>> _ = Path("differences.csv").write_text(f"{columns}\nM1,A,B,0.2,0.1,0.3,0.01\n")
        >>> [difference] = load_human_differences("differences.csv")
        >>> difference.system, difference.next, difference.difference, difference.p_value
        ('A', 'B', 0.2, 0.01)
    """
    found = []
    with add_path_to_errors(file, name):
        for line, row in read_columns(file, _OF_DIFFERENCES, limit, optional=("test",)):
            question, system, following, test = (unescape_cell(text) for text in (*row[:3], row[-1]))
            difference, low, high, p_value = (
                _parse_number(text, column, line)
                for text, column in zip(row[3:-1], _OF_DIFFERENCES[3:], strict=True)
            )
            found.append(
                HumanDifference(
                    question=question,
                    system=system,
                    next=following,
                    difference=difference,
                    low=low,
                    high=high,
                    p_value=p_value,
                    test=test,
                )
            )
    return tuple(found)


def load_human_scores(file: File, *, name: str = "", limit: int = LIMIT) -> tuple[HumanScore, ...]:
    r"""Read `human.csv`.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes, for error messages.
        limit: The maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file is invalid, or has two values of a system for the same question and release; the
            error names the line.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.formats.judgments.human_scores import load_human_scores
        >>> columns = "submission,system,question,value,low,high,images,votes,workers,alpha,release"
        >>> _ = Path("human.csv").write_text(f"{columns}\n,captioner,M1,0.62,0.55,0.69,100,300,12,,\n")
        >>> [score] = load_human_scores("human.csv")
        >>> score.system, score.value, score.workers, score.alpha
        ('captioner', 0.62, 12, None)
    """
    scores: dict[tuple[str, str, str], HumanScore] = {}
    with add_path_to_errors(file, name):
        for line, row in read_columns(file, _COLUMNS, limit, optional=_METHODS):
            fields = dict(zip((*_COLUMNS, *_METHODS), row, strict=True))
            score = _parse_score(fields, line)
            key = (score.system, score.question, score.release)
            if key in scores:
                raise make_line_error(line, "a new combination of system, question and release", repr(key))
            scores[key] = score
        if not scores:
            message = "the file must have at least one value (got none)"
            raise FormatError(message, kind=FormatErrorKind.NO_RATINGS)
    return tuple(scores.values())


def _parse_score(fields: dict[str, str], line: int) -> HumanScore:
    texts = {name: unescape_cell(fields[name]) for name in (*_TEXTS, *_METHOD_TEXTS)}
    for name in ("system", "question"):
        if not texts[name]:
            raise make_line_error(line, f"a {name}", "none")
    value, low, high = (_parse_number(fields[name], name, line) for name in ("value", "low", "high"))
    images, votes = (_parse_count(fields[name], name, line) for name in ("images", "votes"))
    alpha, alpha_low, alpha_high = (
        _parse_number(fields[name], name, line) if fields[name] else None for name in ("alpha", *_ALPHA_ENDS)
    )
    return HumanScore(
        value=value,
        low=low,
        high=high,
        images=images,
        votes=votes,
        workers=_parse_count(fields["workers"], "workers", line) if fields["workers"] else None,
        alpha=alpha,
        alpha_low=alpha_low,
        alpha_high=alpha_high,
        **texts,
    )


def _parse_number(text: str, name: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise make_line_error(line, f"a finite number in the column {name!r}", repr(text))
    return value


def _parse_count(text: str, name: str, line: int) -> int:
    if not text.isdecimal():
        raise make_line_error(line, f"a nonnegative integer in the column {name!r}", repr(text))
    return int(text)
