"""Data frames, Arrow tables and lists of objects as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capeval._internal.optional_packages import missing_package
from capeval.data.columns import Columns, find_columns
from capeval.errors import CaptionError, FormatError

__all__ = ["arrow_stream", "found_columns", "is_table", "values_of"]


def is_table(value: object) -> bool:
    """Whether a value has named columns: a data frame, an Arrow table, or a list of objects."""
    if isinstance(value, Sequence):
        return bool(value) and isinstance(value[0], Mapping)
    is_arrow = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__dataframe__")
    return not isinstance(value, Mapping) and (is_arrow or _is_pandas(value))


def arrow_stream(table: Any, columns: Columns) -> object | None:
    """A capsule with the table as an Arrow stream; None where its rows are Python's objects.

    Raises:
        CaptionError: The table can't be read.
        DependencyError: The table needs pyarrow, which is not installed.
    """
    if isinstance(table, Sequence):
        return None
    if _is_pandas(table):
        return _stream_of_pandas(table, columns)
    if not hasattr(table, "__arrow_c_stream__"):
        table = _interchanged(table)
    return table.__arrow_c_stream__()  # type: ignore[no-any-return]


def _interchanged(table: Any) -> Any:
    """A table of the older protocol, as Arrow."""
    name = type(table).__name__
    try:
        from pyarrow import interchange

        return interchange.from_dataframe(table)
    except ImportError as error:
        raise missing_package(f"a table of type {name} needs", error) from None
    except (TypeError, ValueError, NotImplementedError) as error:
        raise CaptionError(f"a table of type {name} can't be read ({error})") from None


def found_columns(names: Sequence[Any], columns: Columns) -> tuple[str, str]:
    """The columns of image ids and of captions.

    Raises:
        CaptionError: There is no such column, or several could be it.
    """
    try:
        return find_columns([name for name in names if isinstance(name, str)], columns)
    except FormatError as error:
        raise CaptionError(error.message) from None


def values_of(table: Any, columns: Columns) -> tuple[list[Any], list[Any]]:
    """The image ids and the captions of a table whose rows are Python's objects, a row each.

    Raises:
        CaptionError: The table has no such columns, or several that could be meant.
    """
    if isinstance(table, Sequence):
        return _of_objects(table, columns)
    image, caption = found_columns(_names(table), columns)
    return _values(table, image), _values(table, caption)


def _of_objects(rows: Sequence[Any], columns: Columns) -> tuple[list[Any], list[Any]]:
    fields = found_columns(list(rows[0]), columns)
    for number, row in enumerate(rows):
        for field in fields:
            if not isinstance(row, Mapping) or field not in row:
                raise CaptionError(f"row {number} must be a mapping with the key {field!r} (got {row!r:.60})")
    image, caption = fields
    return [row[image] for row in rows], [row[caption] for row in rows]


def _is_pandas(table: Any) -> bool:
    return hasattr(table, "iloc") and hasattr(table, "columns")


def _stream_of_pandas(frame: Any, columns: Columns) -> object | None:
    """A frame of pandas as Arrow; None where a column has objects of several types, or without pyarrow."""
    image, caption = found_columns(_names(frame), columns)
    try:
        import pyarrow as pa

        table = pa.table({name: pa.array(_column(frame, name)) for name in (image, caption)})
        return table.__arrow_c_stream__()  # type: ignore[no-any-return]
    except (ImportError, ValueError, TypeError, OverflowError, NotImplementedError):
        return None


def _names(frame: Any) -> list[Any]:
    # The rows of pandas have names too, which may be the ids.
    return [*frame.columns, *(name for name in frame.index.names if name not in frame.columns)]


def _column(frame: Any, name: str) -> Any:
    return frame[name] if name in frame.columns else frame.index.get_level_values(name)


def _values(frame: Any, name: str) -> list[Any]:
    values: list[Any] = _column(frame, name).tolist()
    return values
