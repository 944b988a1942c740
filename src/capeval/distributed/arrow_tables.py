"""Arrow tables out and in; pyarrow is imported when the first is made or read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from capeval._internal.optional_packages import missing_package
from capeval.data.scores import FloatArray
from capeval.errors import FormatError, FormatErrorKind
from capeval.errors.messages import listed

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["arrow", "column", "lists", "numbers", "read_table", "wrong"]


def arrow(purpose: str) -> Any:
    """The module pyarrow.

    Raises:
        DependencyError: It is not installed.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise missing_package(f"{purpose} needs", error) from None
    return pyarrow


def read_table(table: object, types: Mapping[str, str], what: str) -> pa.Table:
    """A table with some columns, of the types that are expected.

    Args:
        table: A table or batch of Arrow, a data frame of pandas, or anything with an Arrow stream.
        types: The columns, and the type of each as Arrow writes it.
        what: What the table holds, for messages.

    Raises:
        DependencyError: pyarrow is not installed.
        FormatError: It is no table, a column is missing or of another type, or a value is null.
    """
    pa = arrow(what)
    try:
        read = pa.Table.from_pandas(table) if hasattr(table, "iloc") else pa.table(table)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise wrong(f"{what} must be an Arrow table (got {type(table).__name__}: {error})") from None
    missing = [name for name in types if name not in read.column_names]
    if missing:
        found = listed(read.column_names) or "none"
        raise wrong(f"{what} must have the columns {listed(list(types))} (got {found})", field=missing[0])
    columns = [column(read, name, kind, what) for name, kind in types.items()]
    return pa.table(columns, names=list(types))


def column(table: pa.Table, name: str, kind: str, what: str) -> pa.Array:
    """A column in one piece, of the type that is expected, without nulls.

    Raises:
        FormatError: The column is of another type, has a number that is too large, or a null.
    """
    pa = arrow(what)
    found = table.column(name)
    if kind != "any":
        if not _is_of(found.type, kind):
            raise wrong(f"{what}: column {name!r} must be of {kind} (got {found.type})", field=name)
        wanted = {
            "list<double>": pa.large_list(pa.float64()),
            "string": pa.large_string(),
            "int64": pa.int64(),
        }
        try:
            found = found.cast(wanted[kind])
        except pa.ArrowInvalid as error:
            raise wrong(f"{what}: column {name!r} must be of {kind} ({error})", field=name) from None
    if found.null_count:
        row = next(row for row, valid in enumerate(found.is_valid().to_pylist()) if not valid)
        raise wrong(f"{what}: row {row} has no {name!r} (got null)", field=name, row=row)
    return found.combine_chunks() if found.num_chunks != 1 else found.chunk(0)


def _is_of(found: Any, kind: str) -> bool:
    """Whether a type is of a kind: not all that can be cast is meant."""
    of = arrow("a table").types
    if kind == "string":
        return bool(of.is_string(found) or of.is_large_string(found) or of.is_string_view(found))
    if kind == "int64":
        return bool(of.is_integer(found))
    is_list = of.is_list(found) or of.is_large_list(found) or of.is_fixed_size_list(found)
    return bool(is_list and of.is_floating(found.value_type))


def lists(rows: FloatArray) -> pa.Array:
    """Rows of numbers as lists of doubles, which every engine takes: Spark has no lists of a fixed size."""
    pa = arrow("a table of statistics")
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.ascontiguousarray(rows).reshape(-1)))


def numbers(array: pa.Array, width: int, name: str, what: str) -> FloatArray:
    """Lists of doubles as rows of numbers.

    Raises:
        FormatError: A list has another length, or a null.
    """
    lengths: NDArray[np.int64] = array.value_lengths().to_numpy(zero_copy_only=False)
    other = np.flatnonzero(lengths != width)
    if other.size:
        row = int(other[0])
        raise wrong(f"{what}: row {row} must have {width} {name!r} (got {lengths[row]})", field=name, row=row)
    values = array.flatten()
    if values.null_count:
        raise wrong(f"{what}: {name!r} must be numbers (got null)", field=name)
    flat: FloatArray = values.to_numpy(zero_copy_only=False)
    return flat.reshape(len(array), width)


def wrong(message: str, *, field: str | None = None, row: int | None = None) -> FormatError:
    """The error of a table that is not what it must be."""
    entry = None if row is None else f"row {row}"
    return FormatError(message, kind=FormatErrorKind.WRONG_VALUE, field=field, entry=entry)
