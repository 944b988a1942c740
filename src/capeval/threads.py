"""How many threads the kernels take."""

from __future__ import annotations

from capeval import _native
from capeval.checks import checked_integer

__all__ = ["set_threads"]

_MOST = 4096


def set_threads(count: int | None) -> None:
    """Sets how many threads tokenise and score in this process from now on; scores do not depend on it.

    It is for workers, each of which an engine gives some of the processors.

    Args:
        count: The number of threads; None for the variable `RAYON_NUM_THREADS` or, without it, as many as
            there are processors.

    Raises:
        OptionError: `count` is not 1 to 4096.
    """
    _native.set_threads(0 if count is None else checked_integer("count", count, 1, _MOST))
