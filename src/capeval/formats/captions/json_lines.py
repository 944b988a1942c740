"""JSON Lines: one entry per line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from capeval import _native
from capeval.data.captions import Candidates, References
from capeval.formats.base import SPLIT, CaptionFormat, ReadOptions, Row, build_captions
from capeval.formats.captions.entries import keys_of, other_fields
from capeval.formats.io.json import check_row, read_json_lines
from capeval.formats.io.sources import Source

__all__ = ["KIND"]

_ENDINGS = (".jsonl", ".ndjson")
_TWO_LINES = re.compile(rb"\s*\{[^\n]*\}\s*\n\s*\{")


def _recognize(source: Source, _: ReadOptions) -> bool:
    # Entries are objects, so a file that starts with a list is not JSON Lines, whatever its name.
    if source.json.kind == "list":
        return False
    are_lines = source.has_several_values and _TWO_LINES.match(source.data) is not None
    return are_lines or source.name.endswith(_ENDINGS)


def _iterate_rows(source: Source, fields: tuple[str, str], options: ReadOptions) -> Iterator[Row]:
    keys = keys_of(fields, options)
    for line, value in read_json_lines(source.data):
        row = check_row(value, f"line {line}", keys)
        if not options.splits or row[SPLIT] in options.splits:
            yield f"line {line}", row[fields[0]], row[fields[1]]


def _read_references(source: Source, options: ReadOptions) -> References:
    fields = other_fields(source, source.json, options)
    if fields is None:
        return References.from_native(_native.read_json_lines_references(source.data))
    return build_captions(References, _iterate_rows(source, fields, options), fields)


def _read_candidates(source: Source, options: ReadOptions) -> Candidates:
    fields = other_fields(source, source.json, options)
    if fields is None:
        return Candidates.from_native(_native.read_json_lines_results(source.data))
    return build_captions(Candidates, _iterate_rows(source, fields, options), fields)


KIND = CaptionFormat(
    name="JSON Lines",
    form='{"image_id", "caption"} on each line',
    priority=50,
    example=lambda: b'{"image_id": 1, "caption": "A dog."}\n{"image_id": 2, "caption": "Two cats."}\n',
    recognize=_recognize,
    references=_read_references,
    candidates=_read_candidates,
    has_columns=True,
    has_splits=True,
)
