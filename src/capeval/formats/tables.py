"""Captions in Parquet and Arrow files, where pyarrow is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from capeval.errors import CaptionError, DependencyError, FormatError, FormatErrorKind
from capeval.types import Candidates, ImageId, References

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read_candidates_table", "read_references_table"]

_Kind = TypeVar("_Kind", References, Candidates)

_COLUMNS = ("image_id", "caption")


def read_references_table(data: bytes, limit: int) -> References:
    """References from the bytes of a Parquet or Arrow file.

    Raises:
        FormatError: The file is damaged or has other columns.
        DependencyError: pyarrow is not installed.
    """
    captions: dict[ImageId, list[str]] = {}
    for row, image, caption in _rows(data, limit, lists=True):
        texts = caption if isinstance(caption, list) else [caption]
        if not texts:
            raise _wrong(row, "caption", "at least one caption", "an empty list")
        for text in texts:
            if not isinstance(text, str):
                raise _wrong(row, "caption", "text", "null")
        captions.setdefault(image, []).extend(texts)
    return _checked(References, captions)


def read_candidates_table(data: bytes, limit: int) -> Candidates:
    """Candidates from the bytes of a Parquet or Arrow file.

    Raises:
        FormatError: The file is damaged, has other columns, or has an image twice.
        DependencyError: pyarrow is not installed.
    """
    rows: dict[ImageId, int] = {}
    captions: dict[ImageId, list[str]] = {}
    for row, image, caption in _rows(data, limit, lists=False):
        if image in captions:
            found = f"got {image!r}, as in row {rows[image]}"
            message = f"row {row}: image_id must be different in every row ({found})"
            raise FormatError(
                message, kind=FormatErrorKind.DUPLICATE_IMAGE, entry=f"row {row}", field="image_id"
            )
        rows[image] = row
        captions[image] = [caption]
    return _checked(Candidates, captions)


def _checked(kind: type[_Kind], captions: dict[ImageId, list[str]]) -> _Kind:
    if not captions:
        raise FormatError(
            "the file must have at least one caption (got none)", kind=FormatErrorKind.NO_CAPTIONS
        )
    try:
        return kind(captions)
    except CaptionError as error:
        raise FormatError(str(error), kind=FormatErrorKind.WRONG_TYPE, field="image_id") from None


def _rows(data: bytes, limit: int, *, lists: bool) -> Iterator[tuple[int, ImageId, Any]]:
    """Each row with its number from 0, its image id and its caption."""
    try:
        import pyarrow as pa
    except ImportError:
        message = "Parquet and Arrow files need pyarrow: pip install pyarrow"
        raise DependencyError(message) from None
    row = size = 0
    try:
        for batch in _batches(data, lists=lists):
            size += batch.nbytes
            if size > limit:
                message = f"the unpacked file must have at most {limit:,} bytes (got more)"
                raise FormatError(message, kind=FormatErrorKind.TOO_LARGE)
            images, captions = (batch.column(name).to_pylist() for name in _COLUMNS)
            for image, caption in zip(images, captions, strict=True):
                for field, value in (("image_id", image), ("caption", caption)):
                    if value is None:
                        raise _wrong(row, field, "a value", "null")
                yield row, image, caption
                row += 1
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise FormatError(
            f"the file can't be read as Parquet or Arrow ({reason})", kind=FormatErrorKind.DAMAGED
        ) from None


def _batches(data: bytes, *, lists: bool) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    source = pa.BufferReader(data)
    if data.startswith(b"PAR1"):
        from pyarrow import parquet

        file = parquet.ParquetFile(source)
        _check_columns(file.schema_arrow, lists=lists)
        yield from file.iter_batches(columns=list(_COLUMNS))
    elif data.startswith(b"ARROW1"):
        reader = pa.ipc.open_file(source)
        _check_columns(reader.schema, lists=lists)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
    else:
        stream = pa.ipc.open_stream(source)
        _check_columns(stream.schema, lists=lists)
        yield from stream


def _check_columns(schema: pa.Schema, *, lists: bool) -> None:
    from pyarrow import types

    for name in _COLUMNS:
        if schema.names.count(name) != 1:
            found = ", ".join(schema.names) or "none"
            message = f"the file must have columns image_id and caption, once each (got {found})"
            raise FormatError(message, kind=FormatErrorKind.MISSING_FIELD, field=name)

    def is_text(kind: pa.DataType) -> bool:
        kind = kind.value_type if types.is_dictionary(kind) else kind
        return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))

    image_id, caption = (schema.field(name).type for name in _COLUMNS)
    if not (types.is_integer(image_id) or is_text(image_id)):
        message = f"column image_id must hold integers or text (got {image_id})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, field="image_id")
    is_list = lists and (types.is_list(caption) or types.is_large_list(caption))
    if not (is_text(caption) or (is_list and is_text(caption.value_type))):
        expected = "text or lists of text" if lists else "text"
        message = f"column caption must hold {expected} (got {caption})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, field="caption")


def _wrong(row: int, field: str, expected: str, found: str) -> FormatError:
    message = f"row {row}: {field} must be {expected} (got {found})"
    return FormatError(message, kind=FormatErrorKind.WRONG_TYPE, entry=f"row {row}", field=field)
