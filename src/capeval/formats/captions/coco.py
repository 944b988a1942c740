"""COCO annotations: images and annotations with their captions."""

from __future__ import annotations

from capeval import _native
from capeval.data.captions import Candidates, References
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.base import CaptionFormat, ReadOptions
from capeval.formats.io.sources import Source

__all__ = ["KIND"]


def _recognize(source: Source, _: ReadOptions) -> bool:
    return source.json.kind == "object" and not {"annotations", "images"}.isdisjoint(source.json.fields)


def _read_references(source: Source, _: ReadOptions) -> References:
    try:
        return References.from_native(_native.read_annotations(source.data))
    except FormatError as error:
        if (
            error.kind is FormatErrorKind.MISSING_FIELD
            and error.entry is None
            and "images" in source.json.fields
        ):
            raise error.with_hint("the file describes images but contains no captions") from None
        raise


def _read_candidates(source: Source, _: ReadOptions) -> Candidates:
    return Candidates.from_native(_native.read_results_under(source.data, "annotations"))


KIND = CaptionFormat(
    name="COCO annotations",
    form='{"images": [{"id"}, ...], "annotations": [{"image_id", "caption"}, ...]}',
    priority=30,
    example=lambda: (
        b'{"images": [{"id": 1}, {"id": 2}], "annotations": [{"image_id": 1, "caption": "A dog."},'
        b' {"image_id": 2, "caption": "Two cats."}]}'
    ),
    recognize=_recognize,
    references=_read_references,
    candidates=_read_candidates,
)
