"""Results inside a JSON object with other data, such as scores or options."""

from __future__ import annotations

from typing import Literal

from capeval import _native
from capeval.data.captions import Candidates
from capeval.formats.base import CaptionFormat, ReadOptions, build_captions
from capeval.formats.captions.entries import other_fields, rows_under
from capeval.formats.io.sources import Source

__all__ = ["KIND"]


def _find_keys(source: Source) -> list[Literal["predictions", "results"]]:
    """Return the keys of lists of results.

    A list without objects contains captions: the file is a mapping with such an image id.
    """
    keys: tuple[Literal["predictions", "results"], ...] = ("predictions", "results")
    fields = source.json.fields
    return [key for key in keys if key in fields and fields[key].is_list_of_objects]


def _read_candidates(source: Source, options: ReadOptions) -> Candidates:
    key = _find_keys(source)[0]
    fields = other_fields(source, source.json.fields[key].first, options)
    if fields is None:
        return Candidates.from_native(_native.read_results_under(source.data, key))
    return build_captions(Candidates, rows_under(source, key, fields, options), fields)


KIND = CaptionFormat(
    name="results in an object",
    form='{"results": [{"image_id", "caption"}, ...]}, also "predictions"',
    priority=40,
    example=lambda: (
        b'{"results": [{"image_id": 1, "caption": "A dog."}, {"image_id": 2, "caption": "Two cats."}]}'
    ),
    recognize=lambda source, _: source.json.kind == "object" and bool(_find_keys(source)),
    candidates=_read_candidates,
    has_columns=True,
)
