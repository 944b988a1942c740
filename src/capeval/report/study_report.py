"""Tables and figures of a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from capeval.report.tables import Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["StudyReport"]


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyReport:
    """The tables and figures of a study.

    Attributes:
        tables: The tables, by the names of their files.
        long_tables: Functions that make the tables that are too long for a terminal and only written, by the
            names of their files.
        figures: Functions that draw the figures, called when they are written, by the names of their files.
    """

    tables: Mapping[str, Grid]
    long_tables: Mapping[str, Callable[[], Grid]] = field(default_factory=dict)
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)
