"""Files of externally reported scores, from a paper or an older leaderboard."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import Any

from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.declared_fields import DeclaredField
from capeval.formats.io.json import TEXT, Field, check_row, iterate_rows, raise_type_error, read_json
from capeval.formats.io.rows import read_table
from capeval.metrics.registry import normalize_score
from capeval.studies.judging import QUESTIONS
from capeval.toolkit import unescape_cell
from capeval_server.challenges.link_validation import safe_link

__all__ = ["COLUMNS", "MOST_ROWS", "ReportedRow", "name_score", "read_reported"]

# CSV columns other than scores.
COLUMNS = ("team", "method", "date", "url", "publication")
MOST_ROWS = 1000
_LONGEST = 1000
# The end of a score's name, with the name of a subset.
_OF_SUBSET = re.compile(r" \([^()]+\)$")
# The names of M1 to M5 in COCO's leaderboard of 2015.
_COCO_QUESTIONS = {f"q{number}": f"M{number}" for number in range(1, 6)}
_MOST_BYTES = 4 * 2**20
_ENTRY = {"team": Field("an object", lambda value: isinstance(value, dict)), "results": TEXT}


@dataclass(frozen=True, kw_only=True)
class ReportedRow:
    """Reported scores of one method.

    Attributes:
        team: The team; empty if unknown.
        method: The method.
        date: The date of the report, such as `2015-05-29`; empty if unknown.
        url: A URL with more information; empty if there is none.
        publication: The publication; empty if unknown.
        scores: The scores of all images, by capeval's names, and human judgments by question.
        declared: The values of declared fields by name.
    """

    team: str
    method: str
    date: str
    url: str
    publication: str
    scores: dict[str, float]
    declared: dict[str, str] = field(default_factory=dict)

    def to_stored(self) -> dict[str, Any]:
        """Return the row as stored; rows without declared fields are stored as by earlier versions."""
        found = asdict(self)
        return found if self.declared else {name: found[name] for name in found if name != "declared"}


def read_reported(
    name: str, data: bytes, names: Sequence[str], declared: Sequence[DeclaredField] = ()
) -> tuple[list[ReportedRow], list[str]]:
    """Return the rows of a file, and the names of its scores that have no column.

    Scores can have the names of COCO's server: `CIDEr` is CIDEr-D. `CIDEr-D (in-domain)` is the
    score of a subset. Human judgments are scores too, such as `M1`; in COCO's leaderboard of 2015, `q1`.

    Two formats are accepted: CSV with a required column `team`, the optional other columns of `COLUMNS`, a
    column per score and optional columns of declared fields; or the JSON of COCO's leaderboards. HTML
    entities in that JSON, such as `&amp;`, are decoded.

    Args:
        name: The name of the file in error messages.
        data: The content of the file.
        names: The names of the leaderboard's scores.
        declared: The fields that submitters to the challenge declare.

    Raises:
        FormatError: The file is invalid.
    """
    try:
        if len(data) > _MOST_BYTES:
            raise _build_error(f"the file must have at most {_MOST_BYTES:,} bytes (got {len(data):,})")
        is_json = data.lstrip()[:1] in (b"[", b"{")
        fields = {field.name: field for field in declared if field.name not in (*COLUMNS, *names)}
        parsed = _parse_json(data) if is_json else _parse_csv(data, fields)
        read = [replace(row, scores=_normalize_names(row.scores, names)) for row in parsed]
        if not 1 <= len(read) <= MOST_ROWS:
            raise _build_error(f"the file must have 1 to {MOST_ROWS:,} rows (got {len(read):,})")
        given = {score for row in read for score in row.scores}
        known = {*names, *QUESTIONS}
        if not {_strip_subset(name) for name in given} & known:
            expected = ", ".join(names)
            got = ", ".join(sorted(given)) or "none"
            raise _build_error(
                f"at least one column must be a score of the leaderboard: {expected};"
                f" or a question of human judgments: {', '.join(QUESTIONS)} (got {got})"
            )
    except FormatError as error:
        raise FormatError(f"{name}: {error}", kind=error.kind) from None
    rows = [
        ReportedRow(
            **{**row.__dict__, "scores": {k: v for k, v in row.scores.items() if _strip_subset(k) in known}}
        )
        for row in read
    ]
    return rows, sorted(name for name in given if _strip_subset(name) not in known)


def name_score(score: str, subset: str) -> str:
    """Return the name of a reported score, such as `CIDEr-D (in-domain)`; the score's name for all images."""
    return f"{score} ({subset})" if subset else score


def _strip_subset(name: str) -> str:
    return _OF_SUBSET.sub("", name)


def _normalize_names(scores: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    found = {}
    for name, value in scores.items():
        score = _strip_subset(name)
        found[(_COCO_QUESTIONS.get(score) or normalize_score(score, names)) + name[len(score) :]] = value
    return found


def _parse_csv(data: bytes, declared: Mapping[str, DeclaredField]) -> Iterator[ReportedRow]:
    header, body = read_table(data, _MOST_BYTES)
    if "team" not in header:
        raise _build_error(f"the first line must name the column 'team' (got {','.join(header)[:80]!r})")
    repeated = [name for name in header if header.count(name) > 1]
    if repeated:
        raise _build_error(f"the first line must name each column once (got {repeated[0]!r} twice)")
    for line, fields in body:
        found = dict(zip(header, fields, strict=True))
        about = {name: unescape_cell(found.pop(name, "")) for name in COLUMNS}
        values = {
            name: _check_declared(declared[name], unescape_cell(found.pop(name)), f"line {line}")
            for name in header
            if name in declared
        }
        scores = {
            name: _parse_number(text, f"line {line}, {name}") for name, text in found.items() if text.strip()
        }
        given = {name: text for name, text in values.items() if text}
        yield _build_row(about, scores, f"line {line}", given)


def _check_declared(field: DeclaredField, text: str, where: str) -> str:
    """Return the value of a declared field; an empty cell is empty for each type."""
    text = _check_text(" ".join(text.split()), where, field.name)
    try:
        return text and field.check(text)
    except FormatError as error:
        raise _build_error(f"{where}, {error.message}") from None


def _parse_number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _build_error(f"{where} must be a number (got {text[:40]!r})") from None


def _parse_json(data: bytes) -> Iterator[ReportedRow]:
    for where, entry in iterate_rows(read_json(data, _MOST_BYTES), None, _ENTRY):
        found = check_row(read_json(entry["results"].encode()), f"{where}.results", {})
        about = {"team": entry["team"].get("name"), "method": entry.get("description")}
        about |= {name: entry.get(name) for name in ("date", "url", "publication")}
        for name, text in about.items():
            if text is not None and not isinstance(text, str):
                raise_type_error(where, "a string", text, field=name)
        texts = {name: _unescape(text or "") for name, text in about.items()}
        yield _build_row(texts, found, where)


def _unescape(text: str) -> str:
    """Decode HTML entities repeatedly: some in COCO's files are escaped twice."""
    while (plain := html.unescape(text)) != text:
        text = plain
    return text


def _build_row(
    about: dict[str, str], scores: dict[str, Any], where: str, declared: Mapping[str, str] | None = None
) -> ReportedRow:
    texts = {name: " ".join(text.split()) for name, text in about.items()}
    for name, text in texts.items():
        _check_text(text, where, name)
    if texts["url"] and not safe_link(texts["url"]):
        raise _build_error(f"{where}, url must begin with http:// or https:// (got {texts['url'][:80]!r})")
    if texts["date"] and not _is_date(texts["date"]):
        raise _build_error(f"{where}, date must have the form 2015-05-29 (got {texts['date'][:40]!r})")
    for name, value in scores.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise _build_error(f"{where}, {name} must be a finite number (got {str(value)[:40]!r})")
    return ReportedRow(
        **texts,
        scores={name: float(value) for name, value in scores.items()},
        declared=dict(declared or {}),
    )


def _check_text(text: str, where: str, name: str) -> str:
    if len(text) > _LONGEST or not text.isprintable():
        raise _build_error(f"{where}, {name} must have at most {_LONGEST:,} characters, all printable")
    return text


def _is_date(text: str) -> bool:
    try:
        return bool(re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _build_error(message: str) -> FormatError:
    return FormatError(message, kind=FormatErrorKind.WRONG_VALUE)
