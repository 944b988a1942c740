"""Tables of all judgments in a release of a server: one row per answer and question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from capeval._internal.csv_escape import escape_cell, is_number, unescape_cell
from capeval._internal.optional_packages import make_missing_package_error
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.captions.tables import limit_size, read_batches, read_schema
from capeval.formats.io.rows import column, make_line_error, read_table
from capeval.formats.io.sources import LIMIT, File, read_source

__all__ = [
    "COUNTED",
    "RatedRow",
    "Rows",
    "gather_ratings",
    "is_judgment_table",
    "iterate_counted",
    "read_judgments",
]

COUNTED = "counted"
"""The column of answers that count: `true` or `false`."""

_CHOOSE = "choose one with 'question' (on the command line: --question)"
_COLUMNS = ("item", "image_id", "caption", "system", "pair", "question", "value", COUNTED)

Rows = Iterable[tuple[int, list[str]]]
# The line, the image id, the caption, the system (None if the file has no systems), and the ratings.
RatedRow = tuple[int, str, str, str | None, list[str]]


def read_judgments(file: File, limit: int = LIMIT) -> tuple[list[str], Rows]:
    r"""Return the columns of a CSV or Parquet file, and its rows as the text of CSV with line numbers.

    Args:
        file: The path of the file, or its bytes.
        limit: The maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file is damaged.
        DependencyError: Parquet requires pyarrow, which is not installed.
        OSError: The file can't be read.

    Example:
        >>> from capeval.formats.judgments.judgment_tables import read_judgments
        >>> header, rows = read_judgments(b"pair,choice\n0,first\n")
        >>> header, list(rows)
        (['pair', 'choice'], [(2, ['0', 'first'])])
    """
    data = read_source(file, limit).data
    return _read_parquet(data, limit) if data.startswith(b"PAR1") else read_table(data, limit)


def _read_parquet(data: bytes, limit: int) -> tuple[list[str], Rows]:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise make_missing_package_error("Parquet files need", error) from None
    try:
        names = read_schema(data).names
        batches = list(limit_size(read_batches(data, names), names, limit))
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        message = f"cannot read the file as Parquet ({reason})"
        raise FormatError(message, kind=FormatErrorKind.DAMAGED) from None
    rows = (row for batch in batches for row in zip(*(each.to_pylist() for each in batch), strict=True))
    return names, ((line, [_format_cell(cell) for cell in row]) for line, row in enumerate(rows, 2))


def _format_cell(cell: object) -> str:
    """Return a cell as in CSV: text is escaped, because readers of CSV remove the escapes."""
    if isinstance(cell, bool):
        return str(cell).lower()
    return "" if cell is None else escape_cell(str(cell))


def is_judgment_table(header: Sequence[str]) -> bool:
    """Return whether the columns are those of a table of judgments.

    Example:
        >>> from capeval.formats.judgments.judgment_tables import is_judgment_table
        >>> is_judgment_table(["image_id", "caption", "rating_1"])
        False
    """
    return {"question", "value", COUNTED} <= set(header)


def iterate_counted(rows: Rows, place: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that count, by the column `counted` at a position.

    Raises:
        FormatError: A field of the column is neither `true` nor `false`.

    Example:
        >>> from capeval.formats.judgments.judgment_tables import iterate_counted
        >>> list(iterate_counted([(2, ["first", "true"]), (3, ["second", "false"])], 1))
        [(2, ['first', 'true'])]
    """
    for line, row in rows:
        if row[place] not in ("true", "false"):
            raise make_line_error(line, f"true or false in the column {COUNTED!r}", repr(row[place]))
        if row[place] == "true":
            yield line, row


def gather_ratings(header: Sequence[str], rows: Rows, question: str) -> Iterator[RatedRow]:
    """Yield line, image id, caption, system and ratings of each item, as text.

    Args:
        header: The columns of a table of judgments.
        rows: Its rows, with their line numbers.
        question: The question; empty for the only one.

    Raises:
        FormatError: A column or a number is missing, the rows are votes on pairs, or the table has no such
            question.

    Example:
        >>> from capeval.formats.judgments.judgment_tables import gather_ratings
        >>> header = ["item", "image_id", "caption", "system", "pair", "question", "value", "counted"]
        >>> rows = [
        ...     (2, ["7", "1", "a dog", "ours", "", "M3", "4.0", "true"]),
        ...     (3, ["7", "1", "a dog", "ours", "", "M3", "5.0", "true"]),
        ... ]
        >>> list(gather_ratings(header, rows, "M3"))
        [(2, '1', 'a dog', 'ours', ['4.0', '5.0'])]
    """
    places = [column(header, name) for name in _COLUMNS]
    found: dict[str, dict[str, RatedRow]] = {}
    for line, row in iterate_counted(rows, places[-1]):
        item, image, caption, system, pair, asked, value, _ = (row[place] for place in places)
        if pair:
            message = f"line {line} is a vote on a pair, not a rating; count votes with 'capeval study votes'"
            raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, field="pair", line=line)
        if not is_number(value):
            raise make_line_error(line, "a number in the column 'value'", repr(value))
        about: RatedRow = (line, unescape_cell(image), unescape_cell(caption), unescape_cell(system), [])
        found.setdefault(unescape_cell(asked), {}).setdefault(item, about)[-1].append(value)
    if not found:
        return
    if question not in found and (question or len(found) != 1):
        expected = f"the question {question!r}" if question else f"one question; {_CHOOSE}"
        message = f"the table must have {expected} (got {', '.join(found)})"
        raise FormatError(message, kind=FormatErrorKind.MISSING_FIELD, field="question")
    yield from found[question or next(iter(found))].values()
