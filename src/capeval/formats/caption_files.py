"""References and candidates from files, and to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from capeval import _native
from capeval._internal.validation import checked_flag
from capeval.data.captions import Candidates, ImageId, References
from capeval.data.columns import Columns, Role
from capeval.data.scores import Digest
from capeval.errors import FormatError, FormatErrorKind, MismatchError, OptionError, ResourceError
from capeval.errors.messages import listed, one_candidate
from capeval.formats.base import ReadOptions
from capeval.formats.io.json import write_json
from capeval.formats.io.sources import LIMIT, File, Source, naming, read_source
from capeval.formats.registry import candidates_in, references_in

__all__ = [
    "coco_annotations",
    "coco_results",
    "load_candidates",
    "load_references",
    "read_references",
    "write_candidates",
    "write_references",
]


def load_references(
    file: File,
    *,
    name: str = "",
    limit: int = LIMIT,
    id_column: str | None = None,
    caption_column: str | None = None,
    split: str | Sequence[str] | None = None,
    by_path: bool = False,
) -> References:
    """The references in a file.

    The file is one of the kinds that docs/formats.md lists with their forms: COCO annotations, a list of
    entries, a mapping of image ids to captions, JSON Lines, Karpathy's datasets, token files, CSV and TSV,
    Parquet and Arrow; also in gzip, xz or zip. The kind is recognized by the content, and then by the name.

    Image ids are all integers or all text. The keys of a mapping, which JSON can only write as text, and the
    ids of CSV are integers when every one of them is an integer written plainly.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes: its ending tells the kind where the content does not, and errors name it.
        limit: The most bytes that the file may have, also unpacked.
        id_column: The column or key of image ids; found by its name where it has a usual one.
        caption_column: The column or key of captions; found likewise.
        split: The split or splits to read, of a file that has several.
        by_path: Whether a pickle of them, or of what is prepared with them, names the file instead of holding
            the captions: for processes that find the same file at the same path. Each process reads it once.

    Raises:
        FormatError: The file is something else, or it is not clear what to read; the error says what, and in
            which entry and field.
        OptionError: Columns or splits are named, and a file of this kind has none; `by_path` is not True or
            False, or `file` is no path.
        DependencyError: Parquet or Arrow needs pyarrow, which is not installed.
        OSError: The file can't be read.
    """
    columns = Columns(role=Role.REFERENCES, id_column=id_column, caption_column=caption_column)
    if checked_flag("by_path", by_path) and isinstance(file, bytes):
        raise OptionError("'by_path' needs the path of a file (got bytes)")
    found = read_references(file, columns, name=name, limit=limit, split=split)
    if not by_path or isinstance(file, bytes):
        return found
    splits = (split,) if isinstance(split, str) else tuple(split or ())
    again = (Path(file).absolute(), columns, name, limit, splits)
    return found.by_file(_read_again, *again, Digest(found).total)


@lru_cache(maxsize=8)
def _read_again(
    path: Path, columns: Columns, name: str, limit: int, splits: tuple[str, ...], digest: int
) -> References:
    """The references in a file that a pickle names, read once in each process."""
    try:
        found = read_references(path, columns, name=name, limit=limit, split=splits)
    except OSError as error:
        raise ResourceError(f"{path} must have references, which a pickle names ({error})") from None
    if Digest(found).total != digest:
        raise ResourceError(
            f"{path} must have the references that it had when a pickle was made that names it (got others)"
        )
    return found.by_file(_read_again, path, columns, name, limit, splits, digest)


def load_candidates(
    file: File,
    *,
    name: str = "",
    limit: int = LIMIT,
    id_column: str | None = None,
    caption_column: str | None = None,
    strict: bool = False,
) -> Candidates:
    """The candidates in a file: one caption for each image.

    The kinds of files are those of `load_references`, but for Karpathy's datasets; in JSON, COCO results
    (a list of `{"image_id", "caption"}`, also as `{"results": [...]}` or as COCO annotations) or a mapping of
    image ids to captions, where a caption may be a list of one.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes: its ending tells the kind where the content does not, and errors name it.
        limit: The most bytes that the file may have, also unpacked.
        id_column: The column or key of image ids; found by its name where it has a usual one.
        caption_column: The column or key of captions; found likewise.
        strict: Whether to read what evaluation servers take alone: COCO results or a mapping of captions, in
            JSON without a byte order mark, `NaN` or `Infinity`.

    Raises:
        FormatError: The file is something else, or it is not clear what to read; the error says what, and in
            which entry and field.
        OptionError: Columns are named, and a file of this kind has none.
        DependencyError: Parquet or Arrow needs pyarrow, which is not installed.
        OSError: The file can't be read.
    """
    columns = Columns(role=Role.CANDIDATES, id_column=id_column, caption_column=caption_column)
    with naming(file, name):
        source = read_source(file, limit, name=name)
        if strict:
            return _strict_candidates(source, columns)
        return candidates_in(source, ReadOptions(columns=columns, limit=limit))


def read_references(
    file: File,
    columns: Columns,
    *,
    name: str = "",
    limit: int = LIMIT,
    split: str | Sequence[str] | None = None,
) -> References:
    """The references in a file, as `load_references`, with columns that may be named for another file."""
    splits = (split,) if isinstance(split, str) else tuple(split or ())
    options = ReadOptions(columns=columns, splits=splits, limit=limit)
    with naming(file, name):
        source = read_source(file, limit, name=name)
        try:
            return references_in(source, options)
        except FormatError as error:
            if splits and error.kind is FormatErrorKind.NO_CAPTIONS:
                raise error.with_hint(f"no row is of split {listed(splits)}") from None
            raise


def _strict_candidates(source: Source, columns: Columns) -> Candidates:
    if columns.are_named:
        raise OptionError("'strict' reads image_id and caption alone (got names of other columns)")
    if source.had_mark:
        message = "the file starts with a UTF-8 byte order mark; expected plain UTF-8"
        raise FormatError(message, kind=FormatErrorKind.BYTE_ORDER_MARK)
    return Candidates.from_native(_native.read_results_strictly(source.data))


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
