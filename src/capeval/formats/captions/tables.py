"""Captions in Parquet and Arrow files; requires pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from capeval import _native
from capeval._internal.optional_packages import make_missing_package_error
from capeval.data.captions import Candidates, References
from capeval.data.columns import find_columns
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.base import SPLIT, CaptionFormat, ReadOptions, SplitFilter
from capeval.formats.io.sources import Source

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KIND", "limit_size", "read_batches", "read_schema"]

_Captions = TypeVar("_Captions", References, Candidates)

_PARQUET, _ARROW = b"PAR1", b"ARROW1"
# The first bytes of Parquet, of Arrow files and of Arrow streams.
_TABLES = (_PARQUET, _ARROW, b"\xff\xff\xff\xff")


def _read(kind: type[_Captions], source: Source, options: ReadOptions) -> _Captions:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise make_missing_package_error("Parquet and Arrow files need", error) from None
    try:
        schema = read_schema(source.data)
        fields: tuple[str, str] = find_columns(schema.names, options.columns)
        SplitFilter(schema.names, options)
        names = list(dict.fromkeys([*fields, *([SPLIT] if options.splits else [])]))
        batches = list(limit_size(read_batches(source.data, names), names, options.limit))
        selected = pa.schema([schema.field(name) for name in names])
        table = _native.ArrowTable(pa.Table.from_batches(batches, selected).__arrow_c_stream__())
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise FormatError(
            f"cannot read the file as Parquet or Arrow ({reason})", kind=FormatErrorKind.DAMAGED
        ) from None
    split = (SPLIT, list(options.splits)) if options.splits else None
    captions = table.captions(*fields, is_single=kind is Candidates, split=split)
    return kind.from_native(captions)


def limit_size(batches: Iterable[pa.RecordBatch], names: list[str], limit: int) -> Iterator[pa.RecordBatch]:
    """Yield some columns of batches of at most `limit` bytes in total.

    Raises:
        FormatError: The batches are larger.
    """
    size = 0
    for whole in batches:
        batch = whole.select(names)
        size += batch.nbytes
        if size > limit:
            message = f"the unpacked file must have at most {limit:,} bytes (got more)"
            raise FormatError(message, kind=FormatErrorKind.TOO_LARGE)
        yield batch


def read_schema(data: bytes) -> pa.Schema:
    """Return the schema of a Parquet or Arrow file."""
    import pyarrow as pa

    if data.startswith(_PARQUET):
        from pyarrow import parquet

        return parquet.ParquetFile(pa.BufferReader(data)).schema_arrow
    source = pa.BufferReader(data)
    return (pa.ipc.open_file(source) if data.startswith(_ARROW) else pa.ipc.open_stream(source)).schema


def read_batches(data: bytes, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield batches of some columns of a Parquet or Arrow file."""
    import pyarrow as pa

    source = pa.BufferReader(data)
    if data.startswith(_PARQUET):
        from pyarrow import parquet

        yield from parquet.ParquetFile(source).iter_batches(columns=names)
    elif data.startswith(_ARROW):
        reader = pa.ipc.open_file(source)
        yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
    else:
        yield from pa.ipc.open_stream(source)


def _write_example() -> bytes:
    import pyarrow as pa

    table = pa.table({"image_id": [1, 2], "caption": ["A dog.", "Two cats."]})
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return bytes(out.getvalue())


KIND = CaptionFormat(
    name="Parquet or Arrow",
    form="a table with named columns (requires pyarrow)",
    priority=10,
    example=_write_example,
    recognize=lambda source, _: source.data.startswith(_TABLES),
    references=lambda source, options: _read(References, source, options),
    candidates=lambda source, options: _read(Candidates, source, options),
    has_columns=True,
    has_splits=True,
)
