"""Tables of comparisons of two or more systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from capeval.report.tables import System
from capeval.scoring.grids import Cell, Grid, create_score_cell
from capeval.scoring.significance import Comparison, Comparisons, describe_test, format_p_value

__all__ = [
    "DAGGER",
    "Pairs",
    "create_comparison_table",
    "create_pair_table",
    "create_system_table",
    "mark_cell",
]

Pairs = Mapping[tuple[str, str], Comparisons]
"""The comparison of each score, by the names of two systems."""

DAGGER = "\N{DAGGER}"
"""The mark of scores that differ significantly from the first system's."""

_TESTS: tuple[str, ...] = ("Difference", "Detectable", "p-value")


def create_comparison_table(
    comparisons: Mapping[str, Comparison], a: str, b: str, *, notes: Sequence[str] = ()
) -> Grid:
    """Create a table that compares two systems, with one row per score.

    The better score is marked if the difference is significant at the level of the interval. Larger
    differences than the detectable one would be significant.

    Args:
        comparisons: The comparison of each score by name.
        a: The name of the first system.
        b: The name of the second system.
        notes: Footnotes of the table, such as the `notes` of a report.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.report import create_comparison_table
        >>> references = {1: ["A big red bus."], 2: ["Two cats."]}
        >>> ours = evaluate(references, {1: "A big red bus.", 2: "Two dogs."}, ["ROUGE-1"])
        >>> baseline = evaluate(references, {1: "A red bus.", 2: "Two dogs."}, ["ROUGE-1"])
        >>> grid = create_comparison_table(ours.compare(baseline), "Transformer", "Baseline")
        >>> grid.columns
        ('Metric', 'Transformer', 'Baseline', 'Difference', 'Detectable', 'p-value')
        >>> [cell.value for cell in grid.rows[0][:4]]
        ['ROUGE-1', 0.75, 0.625, 0.125]
    """
    rows = tuple(
        (Cell(value=name), *_list_scores(each), *_list_tests(each)) for name, each in comparisons.items()
    )
    return Grid(columns=("Metric", a, b, *_TESTS), rows=rows, notes=tuple(notes))


def create_pair_table(compared: Mapping[str, Pairs], *, notes: Sequence[str] = ()) -> Grid:
    """Create a table that compares pairs of systems, with one row per subset, score and pair.

    The better score is marked if the corrected p-value is significant.

    Args:
        compared: The comparisons of pairs of systems (`compare_systems`), by the name of a subset.
        notes: Footnotes of the table.

    Example:
        >>> from capeval import Evaluator
        >>> from capeval.report import create_pair_table
        >>> from capeval.scoring.multiple_comparisons import compare_systems
        >>> evaluator = Evaluator({1: ["A red bus."], 2: ["Two cats."]}, ["ROUGE-1"])
        >>> candidates = {"Ours": {1: "A red bus.", 2: "Two cats."}, "Baseline": {1: "A bus.", 2: "Cats."}}
        >>> systems = {name: evaluator.evaluate(each) for name, each in candidates.items()}
        >>> grid = create_pair_table({"all": compare_systems(systems)})
        >>> grid.columns[:5]
        ('Metric', 'A', 'B', 'Score A', 'Score B')
        >>> [cell.value for cell in grid.rows[0][:4]], round(grid.rows[0][4].value, 3)
        (['ROUGE-1', 'Ours', 'Baseline', 1.0], 0.583)
    """
    rows = []
    for subset, pairs in compared.items():
        for name in next(iter(pairs.values())):
            for (a, b), comparisons in pairs.items():
                each = comparisons[name]
                texts = [Cell(value=text) for text in (subset, name, a, b)]
                rows.append((*texts, *_list_scores(each), *_list_tests(each), _create_corrected_cell(each)))
    columns: tuple[str, ...] = ("Images", "Metric", "A", "B", "Score A", "Score B", *_TESTS, "p-value (Holm)")
    if all(len(pairs) == 1 for pairs in compared.values()):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    if len(compared) == 1:
        columns, rows = columns[1:], [row[1:] for row in rows]
    return Grid(columns=columns, rows=tuple(rows), notes=tuple(notes))


def create_system_table(
    systems: Sequence[System], pairs: Pairs, *, notes: Sequence[str] | None = None
) -> Grid:
    """Create a table for papers, with one row per system and a dagger at significant differences.

    A dagger marks scores that differ significantly from the first system's. A score is bold if it is
    significantly better than those of all other systems, which requires comparisons of the system with all
    of them.

    Args:
        systems: The systems, with the intervals to show.
        pairs: The comparisons of pairs of these systems (`compare_systems`).
        notes: Footnotes of the table; by default those of the first report, and the test.

    Example:
        >>> from capeval import Evaluator
        >>> from capeval.report import System, create_system_table
        >>> from capeval.scoring.multiple_comparisons import compare_systems
        >>> words = ["dog", "cat", "bus", "cake", "bird", "horse"]
        >>> evaluator = Evaluator({word: [f"A {word}."] for word in words}, ["ROUGE-1"])
        >>> candidates = {
        ...     "Ours": {word: f"A {word}." for word in words},
        ...     "Baseline": {word: "A man." for word in words},
        ... }
        >>> reports = {name: evaluator.evaluate(each) for name, each in candidates.items()}
        >>> systems = [System(name=name, report=report) for name, report in reports.items()]
        >>> grid = create_system_table(systems, compare_systems(reports))
        >>> [(row[0].value, row[1].value, row[1].best, row[1].mark) for row in grid.rows]
        [('Ours', 1.0, True, ''), ('Baseline', 0.5, False, '†')]
    """
    names = tuple(systems[0].report.corpus)
    labels = [system.name for system in systems]
    rows = []
    for system in systems:
        cells = [Cell(value=system.name)]
        for name in names:
            cell = create_score_cell(system.report.corpus[name], system.intervals.get(name))
            cells.append(mark_cell(cell, pairs, labels, system.name, name))
        rows.append(tuple(cells))
    if notes is None:
        comparison = next(iter(next(iter(pairs.values())).values()))
        marked = f"{DAGGER}: differs significantly from {labels[0]}."
        notes = (*systems[0].report.notes(), marked, describe_test(comparison))
    return Grid(columns=("System", *names), rows=tuple(rows), notes=tuple(notes))


def mark_cell(cell: Cell, pairs: Pairs, labels: Sequence[str], system: str, name: str) -> Cell:
    """Return the cell of a score with the marks of tests.

    Args:
        cell: The cell.
        pairs: The comparisons of pairs of systems.
        labels: The names of all systems.
        system: The name of the cell's system.
        name: The name of the score.
    """
    first = pairs[labels[0], system][name] if (labels[0], system) in pairs else None
    others = [other for other in labels if other != system]
    return replace(
        cell,
        best=all(_is_better(pairs, system, other, name) for other in others),
        mark=DAGGER if first is not None and first.is_significant else "",
    )


def _is_better(pairs: Pairs, system: str, other: str, name: str) -> bool:
    """Return whether a system was compared with another and is significantly better."""
    for pair, side in (((system, other), "a"), ((other, system), "b")):
        if pair in pairs:
            return pairs[pair][name].is_significant and pairs[pair][name].better == side
    return False


def _list_scores(each: Comparison) -> tuple[Cell, Cell]:
    return (
        Cell(value=each.a, best=each.is_significant and each.better == "a"),
        Cell(value=each.b, best=each.is_significant and each.better == "b"),
    )


def _list_tests(each: Comparison) -> tuple[Cell, Cell, Cell]:
    return (
        Cell(value=each.difference, low=each.low, high=each.high, digits=4),
        Cell(value=each.detectable, digits=4),
        Cell(value=each.p_value, digits=4, text=format_p_value(each)),
    )


def _create_corrected_cell(each: Comparison) -> Cell:
    return Cell(value=each.corrected_p_value, digits=4, text=format_p_value(each, is_corrected=True))
