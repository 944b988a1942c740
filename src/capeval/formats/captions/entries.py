"""A JSON list of entries with one or more captions each, such as COCO results."""

from __future__ import annotations

from collections.abc import Iterator

from capeval import _native
from capeval.data.captions import Candidates, References
from capeval.data.columns import Role, find_columns
from capeval.formats.base import SPLIT, CaptionFormat, ReadOptions, Row, build_captions
from capeval.formats.io.json import TEXT, Field, iterate_rows, read_json
from capeval.formats.io.sources import JsonShape, Source

__all__ = ["KIND", "keys_of", "other_fields", "rows_under"]

_ANY = Field("a value", lambda _: True)
# The caption keys that the native readers support, in addition to `image_id`.
_NATIVE = {Role.REFERENCES: ("caption", "captions", "references"), Role.CANDIDATES: ("caption",)}


def other_fields(source: Source, entry: JsonShape | None, options: ReadOptions) -> tuple[str, str] | None:
    """Return the id key and the caption key, or None if native readers support them.

    Args:
        source: The file.
        entry: Its first entry.
        options: The options for reading it.

    Raises:
        FormatError: A key is missing or ambiguous.
    """
    if entry is None or entry.kind != "object" or not source.begins_well:
        # The native readers report the error.
        return None
    image, caption = find_columns(list(entry.fields), options.columns, "key")
    is_native = image == "image_id" and caption in _NATIVE[options.columns.role] and not options.splits
    return None if is_native else (image, caption)


def rows_under(
    source: Source, key: str | None, fields: tuple[str, str], options: ReadOptions
) -> Iterator[Row]:
    """Yield the rows of a list in a JSON file: under a key, or at the top level."""
    for place, row in iterate_rows(read_json(source.data), key, keys_of(fields, options)):
        if not options.splits or row[SPLIT] in options.splits:
            yield place, row[fields[0]], row[fields[1]]


def keys_of(fields: tuple[str, str], options: ReadOptions) -> dict[str, Field]:
    """Return the keys that each entry must have."""
    return dict.fromkeys(fields, _ANY) | ({SPLIT: TEXT} if options.splits else {})


def _read_references(source: Source, options: ReadOptions) -> References:
    fields = other_fields(source, source.json.first, options)
    if fields is None:
        return References.from_native(_native.read_annotations(source.data))
    return build_captions(References, rows_under(source, None, fields, options), fields)


def _read_candidates(source: Source, options: ReadOptions) -> Candidates:
    fields = other_fields(source, source.json.first, options)
    if fields is None:
        return Candidates.from_native(_native.read_results(source.data))
    return build_captions(Candidates, rows_under(source, None, fields, options), fields)


KIND = CaptionFormat(
    name="a list of entries",
    form='[{"image_id", "caption"}, ...], such as COCO results',
    priority=60,
    example=lambda: b'[{"image_id": 1, "caption": "A dog."}, {"image_id": 2, "caption": "Two cats."}]',
    recognize=lambda source, _: source.json.kind == "list",
    references=_read_references,
    candidates=_read_candidates,
    has_columns=True,
    has_splits=True,
)
