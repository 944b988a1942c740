"""Changes that are made, read, and rolled back, as previews and dry runs do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TypeVar

__all__ = ["roll_back"]

_Result = TypeVar("_Result")


class _UndoneError(Exception):
    """End of a change that is rolled back."""


@contextmanager
def roll_back(change: AbstractContextManager[_Result]) -> Iterator[_Result]:
    """Make a change and roll it back at the end of the block.

    Args:
        change: A context that makes the change, and rolls it back after an error.

    Example:
        >>> from contextlib import contextmanager
        >>> from capeval_server.core.rollback import roll_back
        >>> done = []
        >>> @contextmanager
        ... def change():
        ...     done.append("change")
        ...     try:
        ...         yield len(done)
        ...     except BaseException:
        ...         done.clear()
        ...         raise
        >>> with roll_back(change()) as number:
        ...     print(number, done)
        1 ['change']
        >>> done
        []
    """
    with suppress(_UndoneError), change as result:
        yield result
        raise _UndoneError
