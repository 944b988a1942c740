"""Column access for data frames, Arrow tables and lists of mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capeval._internal.optional_packages import make_missing_package_error
from capeval.data.columns import Columns, find_columns
from capeval.errors import CaptionError, FormatError

__all__ = ["arrow_stream", "find_table_columns", "is_table", "values_of"]


def is_table(value: object) -> bool:
    """Return whether a value is a data frame, an Arrow table or a list of mappings."""
    if isinstance(value, Sequence):
        return bool(value) and isinstance(value[0], Mapping)
    is_arrow = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__dataframe__")
    return not isinstance(value, Mapping) and (is_arrow or _is_pandas(value))


def arrow_stream(table: Any, columns: Columns) -> object | None:
    """Return a table as an Arrow stream, or None if its rows are Python objects.

    Raises:
        CaptionError: The table can't be read.
        DependencyError: The table requires pyarrow, which is not installed.
    """
    if isinstance(table, Sequence):
        return None
    if _is_pandas(table):
        return _convert_pandas(table, columns)
    if not hasattr(table, "__arrow_c_stream__"):
        table = _convert_interchange(table)
    return table.__arrow_c_stream__()  # type: ignore[no-any-return]


def _convert_interchange(table: Any) -> Any:
    """Convert a table of the older protocol `__dataframe__` to Arrow."""
    name = type(table).__name__
    try:
        from pyarrow import interchange

        return interchange.from_dataframe(table)
    except ImportError as error:
        raise make_missing_package_error(f"a table of type {name} needs", error) from None
    except (TypeError, ValueError, NotImplementedError) as error:
        raise CaptionError(f"cannot read a table of type {name} ({error})") from None


def find_table_columns(names: Sequence[Any], columns: Columns) -> tuple[str, str]:
    """Return the image id column and the caption column.

    Raises:
        CaptionError: A column is missing or ambiguous.
    """
    try:
        return find_columns([name for name in names if isinstance(name, str)], columns)
    except FormatError as error:
        raise CaptionError(error.message) from None


def values_of(table: Any, columns: Columns) -> tuple[list[Any], list[Any]]:
    """Return the image ids and the captions of a table with rows of Python objects.

    Raises:
        CaptionError: A column is missing or ambiguous, or a row lacks a column.
    """
    if isinstance(table, Sequence):
        return _read_objects(table, columns)
    image, caption = find_table_columns(_list_names(table), columns)
    return _get_values(table, image), _get_values(table, caption)


def _read_objects(rows: Sequence[Any], columns: Columns) -> tuple[list[Any], list[Any]]:
    fields = find_table_columns(list(rows[0]), columns)
    for number, row in enumerate(rows):
        for field in fields:
            if not isinstance(row, Mapping) or field not in row:
                raise CaptionError(f"row {number} must be a mapping with the key {field!r} (got {row!r:.60})")
    image, caption = fields
    return [row[image] for row in rows], [row[caption] for row in rows]


def _is_pandas(table: Any) -> bool:
    return hasattr(table, "iloc") and hasattr(table, "columns")


def _convert_pandas(frame: Any, columns: Columns) -> object | None:
    """Return a pandas frame as the capsule of an Arrow stream.

    The result is None if a column has objects of several types, or if pyarrow is not installed.
    """
    image, caption = find_table_columns(_list_names(frame), columns)
    try:
        import pyarrow as pa

        table = pa.table({name: pa.array(_get_column(frame, name)) for name in (image, caption)})
        return table.__arrow_c_stream__()  # type: ignore[no-any-return]
    except (ImportError, ValueError, TypeError, OverflowError, NotImplementedError):
        return None


def _list_names(frame: Any) -> list[Any]:
    # The index levels of a pandas frame also have names, and may contain the ids.
    return [*frame.columns, *(name for name in frame.index.names if name not in frame.columns)]


def _get_column(frame: Any, name: str) -> Any:
    return frame[name] if name in frame.columns else frame.index.get_level_values(name)


def _get_values(frame: Any, name: str) -> list[Any]:
    values: list[Any] = _get_column(frame, name).tolist()
    return values
