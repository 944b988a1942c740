"""References and candidates from files, and to files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from capeval import _native
from capeval.errors import FormatError, MismatchError
from capeval.files import written_whole
from capeval.formats.sources import LIMIT, Source, read_source
from capeval.types import Candidates, References

__all__ = ["load_candidates", "load_references", "write_candidates", "write_references"]

_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET, _ARROW, _ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"

_Loaded = TypeVar("_Loaded")


def load_references(path: str | Path, *, limit: int = LIMIT) -> References:
    """The references in a file.

    What the file is shows in its first bytes, and for JSON lines in the ending `.jsonl`:

    - JSON: COCO annotations (`{"images": ..., "annotations": ...}`), a list of
      `{"image_id", "caption"}` in which an image may occur often and `caption`, `captions` or
      `references` may be a list of captions, or a mapping of image ids to lists of captions;
    - JSON lines: an entry of such a list in each line;
    - Parquet or Arrow with columns `image_id` and `caption` (text or lists of text);
    - gzip of JSON or JSON lines, or a zip archive of one such file.

    Image ids are all integers or all text. The keys of a mapping, which JSON can only write as text,
    are integers when every one of them is an integer written plainly.

    Args:
        path: The file.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: The file is something else; the error says what, and in which entry and field.
        DependencyError: Parquet or Arrow needs pyarrow, which is not installed.
        OSError: The file can't be read.
    """

    def read(source: Source) -> References:
        if _is_table(source):
            from capeval.formats.tables import read_references_table

            return read_references_table(source.data, limit)
        lines = source.name.endswith(_JSON_LINES)
        reader = _native.read_json_lines_references if lines else _native.read_annotations
        return References.from_native(reader(source.data))

    return _of_file(path, limit, read)


def load_candidates(path: str | Path, *, limit: int = LIMIT) -> Candidates:
    """The candidates in a file: one caption for each image.

    The kinds of files are those of `load_references`; in JSON, COCO results (a list of
    `{"image_id", "caption"}`) or a mapping of image ids to captions.

    Args:
        path: The file.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: The file is something else; the error says what, and in which entry and field.
        DependencyError: Parquet or Arrow needs pyarrow, which is not installed.
        OSError: The file can't be read.
    """

    def read(source: Source) -> Candidates:
        if _is_table(source):
            from capeval.formats.tables import read_candidates_table

            return read_candidates_table(source.data, limit)
        lines = source.name.endswith(_JSON_LINES)
        reader = _native.read_json_lines_results if lines else _native.read_results
        return Candidates.from_native(reader(source.data))

    return _of_file(path, limit, read)


def _of_file(path: str | Path, limit: int, read: Callable[[Source], _Loaded]) -> _Loaded:
    try:
        return read(read_source(path, limit))
    except FormatError as error:
        raise error.in_file(path) from None


def _is_table(source: Source) -> bool:
    return source.data.startswith((_PARQUET, _ARROW, _ARROW_STREAM))


def write_references(references: References, path: str | Path) -> None:
    """Writes references as COCO annotations, whole or not at all.

    Annotations are numbered from 1.

    Raises:
        OSError: The file can't be written.
    """
    pairs = ((image, caption) for image in references for caption in references[image])
    annotations = [
        {"image_id": image, "id": number, "caption": caption}
        for number, (image, caption) in enumerate(pairs, start=1)
    ]
    images = [{"id": image} for image in references]
    # pycocotools reads `info`, and other tools `type` and `licenses`.
    _write(
        {"info": {}, "licenses": [], "type": "captions", "images": images, "annotations": annotations}, path
    )


def write_candidates(candidates: Candidates, path: str | Path) -> None:
    """Writes candidates as COCO results, whole or not at all.

    Raises:
        MismatchError: An image has several candidates.
        OSError: The file can't be written.
    """
    results = []
    for image, captions in candidates.items():
        if len(captions) > 1:
            raise MismatchError(
                f"every image must have one candidate (got {len(captions)} for image {image!r})"
            )
        results.append({"image_id": image, "caption": captions[0]})
    _write(results, path)


def _write(content: object, path: str | Path) -> None:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    with written_whole(path) as file:
        file.write(text.encode() + b"\n")
