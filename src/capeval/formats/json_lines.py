"""JSON Lines: an entry in each line."""

from __future__ import annotations

from collections.abc import Iterator

from capeval import _native
from capeval.formats.entries import keys_of, other_fields
from capeval.formats.json import check_row, read_json_lines
from capeval.formats.kind import SPLIT, Kind, Options, Row, captions_of
from capeval.formats.sources import Source
from capeval.types import Candidates, References

__all__ = ["KIND"]

_ENDINGS = (".jsonl", ".ndjson")


def _recognise(source: Source, _: Options) -> bool:
    # An entry is an object, so what begins as a list is one, whatever the file is called.
    return source.json.kind != "list" and (source.name.endswith(_ENDINGS) or source.has_several_values)


def _rows(source: Source, fields: tuple[str, str], options: Options) -> Iterator[Row]:
    keys = keys_of(fields, options)
    for line, value in read_json_lines(source.data):
        row = check_row(value, f"line {line}", keys)
        if not options.splits or row[SPLIT] in options.splits:
            yield f"line {line}", row[fields[0]], row[fields[1]]


def _references(source: Source, options: Options) -> References:
    fields = other_fields(source, source.json, options)
    if fields is None:
        return References.from_native(_native.read_json_lines_references(source.data))
    return captions_of(References, _rows(source, fields, options), fields)


def _candidates(source: Source, options: Options) -> Candidates:
    fields = other_fields(source, source.json, options)
    if fields is None:
        return Candidates.from_native(_native.read_json_lines_results(source.data))
    return captions_of(Candidates, _rows(source, fields, options), fields)


KIND = Kind(
    name="JSON Lines",
    form='{"image_id", "caption"} in each line',
    recognise=_recognise,
    references=_references,
    candidates=_candidates,
    has_columns=True,
    has_splits=True,
)
