"""References and candidates from files, and to files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capeval import _native
from capeval.errors import MismatchError
from capeval.formats.json import write_json
from capeval.formats.sources import LIMIT, File, naming, read_source
from capeval.formats.tables import read_candidates_table, read_references_table
from capeval.messages import one_candidate
from capeval.types import Candidates, ImageId, References

__all__ = [
    "coco_annotations",
    "coco_results",
    "load_candidates",
    "load_references",
    "write_candidates",
    "write_references",
]

_JSON_LINES = (".jsonl", ".ndjson")
# The first bytes of Parquet, of Arrow files and of Arrow streams.
_TABLES = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")


def load_references(file: File, *, name: str = "", limit: int = LIMIT) -> References:
    """The references in a file.

    The format is recognised by the first bytes; only JSON lines by the ending `.jsonl` or `.ndjson`:

    - JSON: COCO annotations (`{"images": ..., "annotations": ...}`), a list of
      `{"image_id", "caption"}` in which an image may occur often and `caption`, `captions` or
      `references` may be a list of captions, or a mapping of image ids to lists of captions;
    - JSON lines: an entry of such a list in each line;
    - Parquet or Arrow with columns `image_id` and `caption` (text or lists of text);
    - gzip of JSON or JSON lines, or a zip archive of one such file.

    Image ids are all integers or all text. The keys of a mapping, which JSON can only write as text,
    are integers when every one of them is an integer written plainly.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes: its ending tells JSON lines, and errors name it.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: The file is something else; the error says what, and in which entry and field.
        DependencyError: Parquet or Arrow needs pyarrow, which is not installed.
        OSError: The file can't be read.
    """
    with naming(file, name):
        source = read_source(file, limit, name=name)
        if source.data.startswith(_TABLES):
            return read_references_table(source.data, limit)
        lines = source.name.endswith(_JSON_LINES)
        read = _native.read_json_lines_references if lines else _native.read_annotations
        return References.from_native(read(source.data))


def load_candidates(file: File, *, name: str = "", limit: int = LIMIT) -> Candidates:
    """The candidates in a file: one caption for each image.

    The kinds of files are those of `load_references`; in JSON, COCO results (a list of
    `{"image_id", "caption"}`) or a mapping of image ids to captions.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes: its ending tells JSON lines, and errors name it.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: The file is something else; the error says what, and in which entry and field.
        DependencyError: Parquet or Arrow needs pyarrow, which is not installed.
        OSError: The file can't be read.
    """
    with naming(file, name):
        source = read_source(file, limit, name=name)
        if source.data.startswith(_TABLES):
            return read_candidates_table(source.data, limit)
        lines = source.name.endswith(_JSON_LINES)
        read = _native.read_json_lines_results if lines else _native.read_results
        return Candidates.from_native(read(source.data))


def coco_annotations(
    references: References,
    *,
    info: Mapping[str, str] | None = None,
    about_images: Mapping[ImageId, Mapping[str, Any]] | None = None,
) -> dict[str, object]:
    """References as COCO annotations, numbered from 1.

    Args:
        references: The references.
        info: The contents of `info`.
        about_images: Further fields of each image, such as `file_name`.
    """
    pairs = ((image, caption) for image in references for caption in references[image])
    # pycocotools reads `info`, and other tools `type` and `licenses`.
    return {
        "info": dict(info or {}),
        "licenses": [],
        "type": "captions",
        "images": [{"id": image, **(about_images or {}).get(image, {})} for image in references],
        "annotations": [
            {"image_id": image, "id": number, "caption": caption}
            for number, (image, caption) in enumerate(pairs, start=1)
        ],
    }


def coco_results(candidates: Candidates) -> list[dict[str, object]]:
    """Candidates as COCO results.

    Raises:
        MismatchError: An image has several candidates.
    """
    results: list[dict[str, object]] = []
    for image, captions in candidates.items():
        if len(captions) > 1:
            raise MismatchError(one_candidate(image, len(captions)))
        results.append({"image_id": image, "caption": captions[0]})
    return results


def write_references(references: References, path: str | Path) -> None:
    """Writes references as COCO annotations, whole or not at all.

    Raises:
        OSError: The file can't be written.
    """
    write_json(coco_annotations(references), path)


def write_candidates(candidates: Candidates, path: str | Path) -> None:
    """Writes candidates as COCO results, whole or not at all.

    Raises:
        MismatchError: An image has several candidates.
        OSError: The file can't be written.
    """
    write_json(coco_results(candidates), path)
