"""Reading and writing of Arrow tables; pyarrow is imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from capeval._internal.optional_packages import make_missing_package_error
from capeval.data.scores import FloatArray
from capeval.errors import FormatError, FormatErrorKind
from capeval.errors.messages import format_names

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["column", "import_pyarrow", "lists", "numbers", "read_table", "wrong"]


def import_pyarrow(purpose: str) -> Any:
    """Import and return pyarrow.

    Args:
        purpose: The purpose in the error message, such as `sums`.

    Raises:
        DependencyError: pyarrow is not installed.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise make_missing_package_error(f"for {purpose}, install", error) from None
    return pyarrow


def read_table(table: object, types: Mapping[str, str], what: str) -> pa.Table:
    """Read some columns of a table with expected types.

    Args:
        table: An Arrow table or record batch, a pandas data frame, or any object with an Arrow stream.
        types: The columns, with the type of each in Arrow's notation.
        what: Name of the table's content in messages.

    Raises:
        DependencyError: pyarrow is not installed.
        FormatError: `table` is not a table, a column is missing or has the wrong type, or a value is null.
    """
    pa = import_pyarrow(what)
    try:
        read = pa.Table.from_pandas(table) if hasattr(table, "iloc") else pa.table(table)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise wrong(f"{what} must be an Arrow table (got {type(table).__name__}: {error})") from None
    missing = [name for name in types if name not in read.column_names]
    if missing:
        found = format_names(read.column_names) or "none"
        raise wrong(
            f"{what} must have the columns {format_names(list(types))} (got {found})", field=missing[0]
        )
    columns = [column(read, name, kind, what) for name, kind in types.items()]
    return pa.table(columns, names=list(types))


def column(table: pa.Table, name: str, kind: str, what: str) -> pa.Array:
    """Return a column as one chunk with the expected type, without nulls.

    Raises:
        FormatError: The column has the wrong type, or contains a number that is too large, or a null.
    """
    pa = import_pyarrow(what)
    found = table.column(name)
    if kind != "any":
        if not _is_kind(found.type, kind):
            raise wrong(f"{what}: column {name!r} must have the type {kind} (got {found.type})", field=name)
        wanted = {
            "list<double>": pa.large_list(pa.float64()),
            "string": pa.large_string(),
            "int64": pa.int64(),
        }
        try:
            found = found.cast(wanted[kind])
        except pa.ArrowInvalid as error:
            raise wrong(f"{what}: column {name!r} must have the type {kind} ({error})", field=name) from None
    if found.null_count:
        row = next(row for row, valid in enumerate(found.is_valid().to_pylist()) if not valid)
        raise wrong(f"{what}: row {row} must have a value in {name!r} (got null)", field=name, row=row)
    return found.combine_chunks() if found.num_chunks != 1 else found.chunk(0)


def _is_kind(found: Any, kind: str) -> bool:
    """Return whether an Arrow type matches a kind; not all castable types do."""
    of = import_pyarrow("a table").types
    if kind == "string":
        return bool(of.is_string(found) or of.is_large_string(found) or of.is_string_view(found))
    if kind == "int64":
        return bool(of.is_integer(found))
    is_list = of.is_list(found) or of.is_large_list(found) or of.is_fixed_size_list(found)
    return bool(is_list and of.is_floating(found.value_type))


def lists(rows: FloatArray) -> pa.Array:
    """Return rows of numbers as lists of doubles.

    Every engine supports these; Spark, for example, has no lists of a fixed size.
    """
    pa = import_pyarrow("a table of statistics")
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.ascontiguousarray(rows).reshape(-1)))


def numbers(array: pa.Array, width: int, name: str, what: str) -> FloatArray:
    """Return lists of doubles as rows of numbers.

    Raises:
        FormatError: A list has the wrong length, or contains a null.
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
    """Return the error for an invalid table."""
    entry = None if row is None else f"row {row}"
    return FormatError(message, kind=FormatErrorKind.WRONG_VALUE, field=field, entry=entry)
