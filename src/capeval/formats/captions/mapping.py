"""A JSON object that maps image ids to captions."""

from __future__ import annotations

from capeval import _native
from capeval.data.captions import Candidates, References
from capeval.formats.base import CaptionFormat, ReadOptions
from capeval.formats.io.sources import Source

__all__ = ["KIND"]


def _read_references(source: Source, _: ReadOptions) -> References:
    return References.from_native(_native.read_annotations(source.data))


def _read_candidates(source: Source, _: ReadOptions) -> Candidates:
    return Candidates.from_native(_native.read_results(source.data))


KIND = CaptionFormat(
    name="captions by image id",
    form='{"391895": ["...", ...], ...}',
    priority=70,
    example=lambda: b'{"1": ["A dog."], "2": ["Two cats."]}',
    recognize=lambda source, _: source.json.kind == "object",
    references=_read_references,
    candidates=_read_candidates,
)
