"""Tables and figures of studies: one file a study, whose function `report` makes all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from capeval.report.grids import Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["StudyReport"]


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyReport:
    """What a study shows and writes.

    Attributes:
        tables: The tables, by the names of their files.
        long_tables: What makes each table that is too long for a terminal and only written, by the name of
            its file.
        figures: What draws each figure, by the name of its files; called only when it is written.
    """

    tables: Mapping[str, Grid]
    long_tables: Mapping[str, Callable[[], Grid]] = field(default_factory=dict)
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)
