"""Comparison of the tables and figures of a paper with computed results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from capeval.report import to_markdown
from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PaperClaim", "PaperPart", "PaperReport", "PaperValue", "Verdict"]

Verdict = Literal["met", "not met", "not computed"]
"""The result of a comparison with a paper."""

# The largest number of rows of a table in the page.
_SHORT = 20


@dataclass(frozen=True, kw_only=True)
class PaperValue:
    """A published number, and the computed one.

    Attributes:
        name: The quantity, such as `CIDEr-2015, HC`.
        published: The number as printed in the paper.
        computed: The computed number; None if it was not computed.
        digits: The number of decimals in the paper.
        tolerance: The largest difference of a number that is met. By default, the computed number must round
            to the published one.

    Example:
        >>> from capeval.studies.shared.papers import PaperValue
        >>> PaperValue(name="METEOR, HI", published=99.3, computed=99.298).verdict
        'met'
        >>> PaperValue(name="METEOR, HC", published=65.2, computed=66.3, tolerance=1.0).verdict
        'not met'
    """

    name: str
    published: float
    computed: float | None
    digits: int = 1
    tolerance: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the computed number equals the published one."""
        if self.computed is None:
            return "not computed"
        limit = 0.5 * 10**-self.digits if self.tolerance is None else self.tolerance
        return "met" if abs(self.computed - self.published) <= limit + 1e-9 else "not met"


@dataclass(frozen=True, kw_only=True)
class PaperClaim:
    """A statement of a paper, and the computed evidence.

    Attributes:
        text: The statement, in our words.
        evidence: The computed numbers; empty if they were not computed.
        is_met: Whether they confirm the statement; None if they were not computed.
    """

    text: str
    evidence: str = ""
    is_met: bool | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the computed numbers confirm the statement."""
        return "not computed" if self.is_met is None else "met" if self.is_met else "not met"


@dataclass(frozen=True, kw_only=True, eq=False)
class PaperPart:
    """A table, figure or section of a paper.

    Attributes:
        name: The name in the paper, such as `Table 1`.
        title: The subject.
        values: The published numbers.
        claims: The statements.
        reason: The reason for differences, or for a part that was not computed.
        tables: Computed tables without published numbers, by file name. Short ones are part of the page.
        figures: Functions that draw the figures, by file name.
    """

    name: str
    title: str
    values: tuple[PaperValue, ...] = ()
    claims: tuple[PaperClaim, ...] = ()
    reason: str = ""
    tables: Mapping[str, Grid] = field(default_factory=dict)
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of all values and claims."""
        return (
            *(value.verdict for value in self.values),
            *(claim.verdict for claim in self.claims),
        )

    @property
    def verdict(self) -> Verdict:
        """Whether all computed values and claims are met; `not computed` if there are none."""
        computed = [verdict for verdict in self.verdicts if verdict != "not computed"]
        if not computed:
            return "not computed"
        return "met" if all(verdict == "met" for verdict in computed) else "not met"

    @property
    def outcome(self) -> str:
        """The verdict with numbers, such as `not met (14 of 16), 2 not computed`."""
        verdicts = self.verdicts
        missing = verdicts.count("not computed")
        if len(verdicts) == missing:
            return "not computed" if verdicts or not self.tables else "no published numbers"
        computed = f"{self.verdict} ({verdicts.count('met')} of {len(verdicts) - missing})"
        return f"{computed}, {missing} not computed" if missing else computed


@dataclass(frozen=True, kw_only=True, eq=False)
class PaperReport:
    """All parts of a paper, compared with computed results.

    Attributes:
        title: The title of the report.
        source: The authors, title and year of the paper.
        parts: The parts, in the paper's order.
        missing: The parts that capeval does not implement, each with the reason.
    """

    title: str
    source: str
    parts: tuple[PaperPart, ...]
    missing: Mapping[str, str] = field(default_factory=dict)

    def to_study_report(self) -> StudyReport:
        """Return the tables and figures of all parts.

        The table of parts is for the terminal. All other tables are only written to files.
        """
        tables = {name: grid for part in self.parts for name, grid in part.tables.items()}
        tables["values"] = self._build_results_table()
        return StudyReport(
            tables={"parts": self._build_parts_table()},
            long_tables={name: partial(tables.__getitem__, name) for name in tables},
            figures={name: draw for part in self.parts for name, draw in part.figures.items()},
        )

    def to_markdown(self, *, with_figures: bool = True) -> str:
        """Return a page with each part: published and computed numbers, figures and reasons.

        Args:
            with_figures: Whether the page refers to the figures in the same folder (`NAME.svg`).
        """
        parts = (_format_part(part, with_figures=with_figures) for part in self.parts)
        summary = to_markdown(self._build_parts_table())
        missing = ""
        if self.missing:
            rows = tuple((Cell(value=name), Cell(value=reason)) for name, reason in self.missing.items())
            # The reasons are Markdown with commands in backticks, which tables escape.
            grid = to_markdown(Grid(columns=("Part", "Reason"), rows=rows)).replace("\\`", "`")
            missing = f"\n## Not implemented\n\n{grid}"
        return f"# {self.title}\n\n{self.source}\n\n{summary}\n" + "\n".join(parts) + missing

    def _build_results_table(self) -> Grid:
        """Return all values and claims, one per row."""
        rows = [
            (part.name, each.name, each.published, each.computed, each.tolerance, each.verdict)
            for part in self.parts
            for each in part.values
        ]
        statements = [
            (part.name, each.text, None, each.evidence, None, each.verdict)
            for part in self.parts
            for each in part.claims
        ]
        return Grid(
            columns=("Part", "Quantity or statement", "Published", "Computed", "Tolerance", "Result"),
            rows=tuple(tuple(Cell(value=value) for value in row) for row in (*rows, *statements)),
        )

    def _build_parts_table(self) -> Grid:
        rows = tuple(
            tuple(Cell(value=text) for text in (part.name, part.title, part.outcome)) for part in self.parts
        )
        return Grid(columns=("Part", "Subject", "Result"), rows=rows)


def _build_values(part: PaperPart) -> Grid:
    """Return the published and computed numbers of a part."""
    has_tolerance = any(value.tolerance is not None for value in part.values)
    rows = tuple(
        (
            Cell(value=value.name),
            _make_number(value.published, value.digits),
            _make_number(value.computed, value.digits + (value.digits > 0)),
            *([_make_number(value.tolerance, value.digits)] if has_tolerance else []),
            Cell(value=value.verdict),
        )
        for value in part.values
    )
    tolerance = ["Tolerance"] if has_tolerance else []
    return Grid(columns=("Quantity", "Published", "Computed", *tolerance, "Result"), rows=rows)


def _make_number(value: float | None, digits: int) -> Cell:
    if value is None:
        return Cell(value=None)
    return Cell(value=float(value), text=f"{value:,.{digits}f}")


def _build_claims(part: PaperPart) -> Grid:
    """Return the statements of a part with the evidence."""
    rows = tuple(
        tuple(Cell(value=text) for text in (claim.text, claim.evidence, claim.verdict))
        for claim in part.claims
    )
    return Grid(columns=("Statement", "Computed", "Result"), rows=rows)


def _format_part(part: PaperPart, *, with_figures: bool) -> str:
    blocks = [f"## {part.name}: {part.title}", f"Result: {part.outcome}."]
    if part.reason:
        blocks.append(part.reason)
    tables = [grid for grid in (_build_values(part), _build_claims(part)) if grid.rows]
    tables += [grid for grid in part.tables.values() if len(grid.rows) <= _SHORT]
    blocks += [to_markdown(grid).rstrip() for grid in tables]
    if with_figures:
        blocks += [f"![{part.title}]({name}.svg)" for name in part.figures]
    return "\n\n".join(blocks) + "\n"
