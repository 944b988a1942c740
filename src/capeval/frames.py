"""Data frames, Arrow tables and lists of objects as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capeval.columns import Columns, find_columns
from capeval.errors import CaptionError, DependencyError, FormatError

__all__ = ["columns_of", "is_table"]


def is_table(value: object) -> bool:
    """Whether a value has named columns: a data frame, an Arrow table, or a list of objects."""
    if isinstance(value, Sequence):
        return bool(value) and isinstance(value[0], Mapping)
    return not isinstance(value, Mapping) and (_is_frame(value) or _is_arrow(value) or _can_be_arrow(value))


def columns_of(table: Any, columns: Columns) -> tuple[list[Any], list[Any]]:
    """The image ids and the captions of a table, a row each.

    Raises:
        CaptionError: The table has no such columns, or several that could be meant.
        DependencyError: The table needs pyarrow, which is not installed.
    """
    if isinstance(table, Sequence):
        return _of_objects(table, columns)
    if not (_is_frame(table) or _is_arrow(table)):
        table = _arrow(table)
    names = _names(table)
    image, caption = _found(names, columns)
    return _values(table, image), _values(table, caption)


def _of_objects(rows: Sequence[Any], columns: Columns) -> tuple[list[Any], list[Any]]:
    fields = _found(list(rows[0]), columns)
    for number, row in enumerate(rows):
        for field in fields:
            if not isinstance(row, Mapping) or field not in row:
                raise CaptionError(f"row {number} must be a mapping with the key {field!r} (got {row!r:.60})")
    image, caption = fields
    return [row[image] for row in rows], [row[caption] for row in rows]


def _found(names: Sequence[Any], columns: Columns) -> tuple[str, str]:
    try:
        return find_columns([name for name in names if isinstance(name, str)], columns)
    except FormatError as error:
        raise CaptionError(error.message) from None


def _is_frame(table: Any) -> bool:
    """Whether a value is like a data frame of pandas, or of polars."""
    # In this order: to say its columns, a lazy frame has to work, and warns of it.
    return (hasattr(table, "iloc") or hasattr(table, "get_column")) and hasattr(table, "columns")


def _is_arrow(table: Any) -> bool:
    return hasattr(table, "column_names") and hasattr(table, "column")


def _can_be_arrow(table: Any) -> bool:
    return hasattr(table, "__arrow_c_stream__") or hasattr(table, "__dataframe__")


def _arrow(table: Any) -> Any:
    """A table of another library, as Arrow."""
    try:
        import pyarrow as pa
        from pyarrow import interchange
    except ImportError:
        message = f"a {type(table).__name__} needs pyarrow: pip install pyarrow"
        raise DependencyError(message) from None
    try:
        if hasattr(table, "__arrow_c_stream__"):
            return pa.table(table)
        return interchange.from_dataframe(table)
    except (pa.ArrowException, TypeError) as error:
        # Such as a series, which is one column.
        message = f"a {type(table).__name__} can't be read as a table with columns ({error})"
        raise CaptionError(message) from None


def _names(table: Any) -> list[Any]:
    if _is_arrow(table):
        return list(table.column_names)
    # The rows of pandas have names too, which may be the ids.
    return [*table.columns, *(name for name in _index_names(table) if name not in table.columns)]


def _index_names(frame: Any) -> list[Any]:
    return list(frame.index.names) if hasattr(frame, "iloc") else []


def _values(table: Any, name: str) -> list[Any]:
    if _is_arrow(table):
        values: list[Any] = table.column(name).to_pylist()
    elif hasattr(table, "get_column"):
        values = table.get_column(name).to_list()
    elif name in table.columns:
        values = table[name].tolist()
    else:
        values = table.index.get_level_values(name).tolist()
    return values
