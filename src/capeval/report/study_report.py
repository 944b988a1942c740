"""Tables and figures of a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from capeval.scoring.grids import Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["StudyReport"]


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyReport:
    """The tables and figures of a study.

    Attributes:
        tables: The tables, by file name.
        long_tables: Functions that create tables, by file name. These tables are too long for a terminal and
            are only written to files.
        figures: Functions that draw the figures, by file name. They are called when the files are written.
    """

    tables: Mapping[str, Grid]
    long_tables: Mapping[str, Callable[[], Grid]] = field(default_factory=dict)
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)
