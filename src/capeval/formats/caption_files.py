"""Reading and writing of reference and candidate files."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from capeval import _native
from capeval._internal.validation import validate_flag
from capeval.data.captions import Candidates, ImageId, References
from capeval.data.columns import Columns, Role
from capeval.data.scores import Digest
from capeval.errors import FormatError, FormatErrorKind, MismatchError, OptionError, ResourceError
from capeval.errors.messages import describe_several_candidates, format_names
from capeval.formats.base import ReadOptions
from capeval.formats.io.json import write_json
from capeval.formats.io.sources import LIMIT, File, Source, add_path_to_errors, read_source
from capeval.formats.registry import parse_candidates, parse_references

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
    """Read references from a file.

    Supported formats, described in docs/reference/formats.md, are COCO annotations, a list of entries, a
    mapping of image ids to captions, JSON Lines, Karpathy's datasets, token files, CSV and TSV, Parquet and
    Arrow; also compressed with gzip, xz or zip. The format is detected by the content, and then by the name.

    Image ids are all integers or all strings. JSON keys and CSV fields are always text: the ids of a mapping
    or of CSV become integers if every one is an integer in canonical form.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes, for error messages; its suffix determines the format if the content does not.
        limit: The maximum size of the file in bytes, also after decompression.
        id_column: The image id column or key; by default detected by its name.
        caption_column: The caption column or key; by default detected by its name.
        split: The split or splits to read from a file that has several.
        by_path: Whether pickles of the references, or of objects prepared with them, contain the path of the
            file instead of the captions. Use it for processes that find the same file at the same path; each
            process reads it once.

    Raises:
        FormatError: The format is unknown, or the file is invalid or ambiguous; the error names the entry and
            the field.
        OptionError: Columns or splits are named, but the format has none; `by_path` is not True or False, or
            is True for bytes.
        DependencyError: Parquet or Arrow requires pyarrow, which is not installed.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval import load_references
        >>> _ = Path("references.json").write_text('{"1": ["A dog runs.", "The dog."], "2": ["Two cats."]}')
        >>> references = load_references("references.json")
        >>> references.image_ids, references[1]
        ((1, 2), ['A dog runs.', 'The dog.'])
    """
    columns = Columns(role=Role.REFERENCES, id_column=id_column, caption_column=caption_column)
    if validate_flag("by_path", by_path) and isinstance(file, bytes):
        raise OptionError("'by_path' requires the path of a file (got bytes)")
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
    """Read the references of a pickle from their file, once per process."""
    try:
        found = read_references(path, columns, name=name, limit=limit, split=splits)
    except OSError as error:
        raise ResourceError(
            f"{path}: cannot read the references of a pickle from this file ({error})"
        ) from None
    if Digest(found).total != digest:
        raise ResourceError(
            f"{path}: the references changed after the pickle that names this file was created; create the"
            " pickle again"
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
    """Read candidates from a file: one caption per image.

    The formats are the same as in `load_references`, except Karpathy's datasets. JSON may be COCO results (a
    list of `{"image_id", "caption"}`, also as `{"results": [...]}` or as COCO annotations) or a mapping of
    image ids to captions, each a string or a list of one string.

    Args:
        file: The path of the file, or its bytes.
        name: A name for bytes, for error messages; its suffix determines the format if the content does not.
        limit: The maximum size of the file in bytes, also after decompression.
        id_column: The image id column or key; by default detected by its name.
        caption_column: The caption column or key; by default detected by its name.
        strict: Whether to accept only the formats of evaluation servers: COCO results or a mapping of
            captions, in JSON without a byte order mark, `NaN` or `Infinity`.

    Raises:
        FormatError: The format is unknown, or the file is invalid or ambiguous; the error names the entry and
            the field.
        OptionError: Columns are named, but the format has none.
        DependencyError: Parquet or Arrow requires pyarrow, which is not installed.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval import load_candidates
        >>> text = '[{"image_id": 1, "caption": "A dog."}, {"image_id": 2, "caption": "Two cats."}]'
        >>> _ = Path("results.json").write_text(text)
        >>> candidates = load_candidates("results.json")
        >>> candidates.image_ids, candidates[1]
        ((1, 2), ['A dog.'])
    """
    columns = Columns(role=Role.CANDIDATES, id_column=id_column, caption_column=caption_column)
    with add_path_to_errors(file, name):
        source = read_source(file, limit, name=name)
        if strict:
            return _read_strict_candidates(source, columns)
        return parse_candidates(source, ReadOptions(columns=columns, limit=limit))


def read_references(
    file: File,
    columns: Columns,
    *,
    name: str = "",
    limit: int = LIMIT,
    split: str | Sequence[str] | None = None,
) -> References:
    """Read references like `load_references`, with columns as a `Columns` object."""
    splits = (split,) if isinstance(split, str) else tuple(split or ())
    options = ReadOptions(columns=columns, splits=splits, limit=limit)
    with add_path_to_errors(file, name):
        source = read_source(file, limit, name=name)
        try:
            return parse_references(source, options)
        except FormatError as error:
            if splits and error.kind is FormatErrorKind.NO_CAPTIONS:
                raise error.with_hint(f"no row is of split {format_names(splits)}") from None
            raise


def _read_strict_candidates(source: Source, columns: Columns) -> Candidates:
    if columns.are_named:
        raise OptionError("'strict' reads only 'image_id' and 'caption'; omit the names of columns")
    if source.had_mark:
        message = "the file starts with a UTF-8 byte order mark; expected plain UTF-8"
        raise FormatError(message, kind=FormatErrorKind.BYTE_ORDER_MARK)
    return Candidates.from_native(_native.read_results_strictly(source.data))


def coco_annotations(
    references: References,
    *,
    info: Mapping[str, str] | None = None,
    about_images: Mapping[ImageId, Mapping[str, Any]] | None = None,
    licenses: Sequence[Mapping[str, Any]] = (),
    numbers: Mapping[ImageId, Sequence[int]] | None = None,
) -> dict[str, object]:
    """Return references as COCO annotations.

    Args:
        references: The references.
        info: The content of `info`.
        about_images: Additional fields of each image, such as `file_name`.
        licenses: The licenses to which images refer.
        numbers: The id of each annotation, by image; by default, annotations are numbered from 1.
    """
    pairs = ((image, caption) for image in references for caption in references[image])
    ids = itertools.count(1) if numbers is None else (each for image in references for each in numbers[image])
    # pycocotools reads `info`, and other tools `type` and `licenses`.
    return {
        "info": dict(info or {}),
        "licenses": [dict(each) for each in licenses],
        "type": "captions",
        "images": [{"id": image, **(about_images or {}).get(image, {})} for image in references],
        "annotations": [
            {"image_id": image, "id": number, "caption": caption}
            for (image, caption), number in zip(pairs, ids, strict=numbers is not None)
        ],
    }


def coco_results(candidates: Candidates) -> list[dict[str, object]]:
    """Return candidates as COCO results.

    Raises:
        MismatchError: An image has several candidates.
    """
    results: list[dict[str, object]] = []
    for image, captions in candidates.items():
        if len(captions) > 1:
            raise MismatchError(describe_several_candidates(image, len(captions)))
        results.append({"image_id": image, "caption": captions[0]})
    return results


def write_references(references: References, path: str | Path) -> None:
    """Write references atomically as COCO annotations.

    Raises:
        OSError: The file can't be written.

    Example:
        >>> import json
        >>> from pathlib import Path
        >>> from capeval import References
        >>> from capeval.formats import write_references
        >>> write_references(References({1: ["A dog runs.", "The dog."]}), "captions_val.json")
        >>> json.loads(Path("captions_val.json").read_text())["annotations"]
        [{'image_id': 1, 'id': 1, 'caption': 'A dog runs.'}, {'image_id': 1, 'id': 2, 'caption': 'The dog.'}]
    """
    write_json(coco_annotations(references), path)


def write_candidates(candidates: Candidates, path: str | Path) -> None:
    """Write candidates atomically as COCO results.

    Raises:
        MismatchError: An image has several candidates.
        OSError: The file can't be written.

    Example:
        >>> import json
        >>> from pathlib import Path
        >>> from capeval import Candidates
        >>> from capeval.formats import write_candidates
        >>> write_candidates(Candidates({1: "A dog.", 2: "Two cats."}), "results.json")
        >>> json.loads(Path("results.json").read_text())
        [{'image_id': 1, 'caption': 'A dog.'}, {'image_id': 2, 'caption': 'Two cats.'}]
    """
    write_json(coco_results(candidates), path)
