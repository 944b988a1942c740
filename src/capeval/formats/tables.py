"""Captions in Parquet and Arrow files, where pyarrow is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from capeval.columns import Role, find_columns
from capeval.errors import DependencyError, FormatError, FormatErrorKind
from capeval.formats.kind import SPLIT, Kind, Options, Row, Wanted, captions_of
from capeval.formats.sources import Source
from capeval.types import Candidates, References

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KIND"]

_Captions = TypeVar("_Captions", References, Candidates)

_PARQUET, _ARROW = b"PAR1", b"ARROW1"
# The first bytes of Parquet, of Arrow files and of Arrow streams.
_TABLES = (_PARQUET, _ARROW, b"\xff\xff\xff\xff")


def _read(kind: type[_Captions], source: Source, options: Options) -> _Captions:
    try:
        import pyarrow as pa
    except ImportError:
        message = "Parquet and Arrow files need pyarrow: pip install pyarrow"
        raise DependencyError(message) from None
    try:
        schema = _schema(source.data)
        fields = find_columns(schema.names, options.columns)
        Wanted(schema.names, options)
        _check_types(schema, fields, lists=options.columns.role is Role.REFERENCES)
        return captions_of(kind, _rows(source.data, fields, options), fields)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise FormatError(
            f"the file can't be read as Parquet or Arrow ({reason})", kind=FormatErrorKind.DAMAGED
        ) from None


def _rows(data: bytes, fields: tuple[str, str], options: Options) -> Iterator[Row]:
    """Each row, named by its number from 0."""
    names = [*fields, *([SPLIT] if options.splits else [])]
    wanted = Wanted(names, options)
    first = size = 0
    for batch in _batches(data, names):
        size += sum(batch.column(name).nbytes for name in names)
        if size > options.limit:
            message = f"the unpacked file must have at most {options.limit:,} bytes (got more)"
            raise FormatError(message, kind=FormatErrorKind.TOO_LARGE)
        columns = (batch.column(name).to_pylist() for name in names)
        for row, values in enumerate(zip(*columns, strict=True), first):
            if wanted.takes(values):
                yield _row(row, fields, values)
        first += batch.num_rows


def _row(number: int, fields: tuple[str, str], values: tuple[object, ...]) -> Row:
    image, caption = values[:2]
    for field, value in zip(fields, (image, caption), strict=True):
        if value is None:
            message = f"row {number}: {field} must be a value (got null)"
            raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, entry=f"row {number}", field=field)
    return f"row {number}", image, caption


def _schema(data: bytes) -> pa.Schema:
    import pyarrow as pa

    if data.startswith(_PARQUET):
        from pyarrow import parquet

        return parquet.ParquetFile(pa.BufferReader(data)).schema_arrow
    source = pa.BufferReader(data)
    return (pa.ipc.open_file(source) if data.startswith(_ARROW) else pa.ipc.open_stream(source)).schema


def _batches(data: bytes, names: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    source = pa.BufferReader(data)
    if data.startswith(_PARQUET):
        from pyarrow import parquet

        yield from parquet.ParquetFile(source).iter_batches(columns=names)
    elif data.startswith(_ARROW):
        reader = pa.ipc.open_file(source)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
    else:
        yield from pa.ipc.open_stream(source)


def _check_types(schema: pa.Schema, fields: tuple[str, str], *, lists: bool) -> None:
    from pyarrow import types

    def is_text(kind: pa.DataType) -> bool:
        kind = kind.value_type if types.is_dictionary(kind) else kind
        return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))

    image, caption = (schema.field(name).type for name in fields)
    if not (types.is_integer(image) or is_text(image)):
        message = f"column {fields[0]} must hold integers or text (got {image})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, field=fields[0])
    is_list = types.is_list(caption) or types.is_large_list(caption)
    if not (is_text(caption) or (is_list and is_text(caption.value_type))):
        expected = "text or lists of text" if lists else "text, or lists of one text"
        message = f"column {fields[1]} must hold {expected} (got {caption})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, field=fields[1])


KIND = Kind(
    name="Parquet or Arrow",
    form="a table with named columns (needs pyarrow)",
    recognise=lambda source, _: source.data.startswith(_TABLES),
    references=lambda source, options: _read(References, source, options),
    candidates=lambda source, options: _read(Candidates, source, options),
    has_columns=True,
    has_splits=True,
)
