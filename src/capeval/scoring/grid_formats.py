"""Formats of tables: CSV, Markdown and LaTeX."""

from __future__ import annotations

import math

from capeval._internal.csv_escape import escape_row
from capeval.formats.io.json import replace_nan
from capeval.scoring.grids import Cell, Grid

__all__ = [
    "escape_controls",
    "find_number_columns",
    "format_cell",
    "format_cell_parts",
    "to_csv",
    "to_latex",
    "to_markdown",
]


def to_csv(grid: Grid) -> str:
    """Format a table as CSV with numbers in full precision.

    The ends of intervals have separate columns. Text that a spreadsheet would run as a formula is prefixed
    with an apostrophe.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.report import System, create_score_table, to_csv
        >>> report = evaluate({1: ["A big red bus."]}, {1: "A red bus."}, ["ROUGE-1"])
        >>> print(to_csv(create_score_table([System(name="Transformer", report=report)])), end="")
        "System","ROUGE-1"
        "Transformer",0.75
    """
    import csv
    import io

    with_ends = {
        column for column in range(len(grid.columns)) if any(row[column].low is not None for row in grid.rows)
    }
    header = []
    for column, name in enumerate(grid.columns):
        header += [name, f"{name} low", f"{name} high"] if column in with_ends else [name]
    text = io.StringIO()
    # All text is quoted, since csv with "\n" as line end would not quote text with a carriage return.
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(escape_row(header))
    for row in grid.rows:
        values: list[object] = []
        for column, cell in enumerate(row):
            numbers = [cell.value, cell.low, cell.high] if column in with_ends else [cell.value]
            values += [replace_nan(number) for number in numbers]
        writer.writerow(escape_row(values))
    return text.getvalue()


def to_markdown(grid: Grid) -> str:
    """Format a GitHub-flavored Markdown table, with the best of each column in bold.

    Example:
        >>> from capeval import Evaluator
        >>> from capeval.report import System, create_score_table, to_markdown
        >>> evaluator = Evaluator({1: ["A big red bus."]}, ["ROUGE-1"])
        >>> candidates = {"Transformer": {1: "A red bus."}, "Baseline": {1: "A bus."}}
        >>> systems = [System(name=name, report=evaluator.evaluate(candidates[name])) for name in candidates]
        >>> print(to_markdown(create_score_table(systems)))
        | System | ROUGE-1 |
        | --- | ---: |
        | Transformer | **0.750** |
        | Baseline | 0.500 |
        ...
    """
    numbers = find_number_columns(grid)
    rule = ["---:" if column in numbers else "---" for column in range(len(grid.columns))]
    body = [[_mark_best(_escape_markdown(format_cell(cell)), cell) for cell in row] for row in grid.rows]
    rows = [[_escape_markdown(name) for name in grid.columns], rule, *body]
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    # The notes are one paragraph, since Markdown renders a line end as a space.
    return table + (
        "\n" + "".join(f"{_escape_markdown(note)}\n" for note in _escape_notes(grid)) if grid.notes else ""
    )


def _escape_notes(grid: Grid) -> list[str]:
    # Notes can contain names from files.
    return [escape_controls(note) for note in grid.notes]


def _mark_best(text: str, cell: Cell) -> str:
    return f"**{text}**" if cell.best else text


def _escape_markdown(text: str) -> str:
    for character in "\\`*_[]<>|~#":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())


def to_latex(grid: Grid) -> str:
    r"""Format a LaTeX `booktabs` table, with the best of each column in bold.

    Example:
        >>> from capeval import Evaluator
        >>> from capeval.report import System, create_score_table, to_latex
        >>> evaluator = Evaluator({1: ["A big red bus."]}, ["ROUGE-1"])
        >>> candidates = {"Transformer": {1: "A red bus."}, "Baseline": {1: "A bus."}}
        >>> systems = [System(name=name, report=evaluator.evaluate(candidates[name])) for name in candidates]
        >>> print(to_latex(create_score_table(systems)))
        % \usepackage{booktabs}
        \begin{tabular}{lr}
        \toprule
        System & ROUGE-1 \\
        \midrule
        Transformer & \textbf{0.750} \\
        Baseline & 0.500 \\
        \bottomrule
        \end{tabular}
        ...
    """
    numbers = find_number_columns(grid)
    alignment = "".join("r" if column in numbers else "l" for column in range(len(grid.columns)))
    lines = ["% \\usepackage{booktabs}", f"\\begin{{tabular}}{{{alignment}}}", "\\toprule"]
    lines += [" & ".join(_escape_latex(name) for name in grid.columns) + r" \\", "\\midrule"]
    for row in grid.rows:
        cells = [
            rf"\textbf{{{_escape_latex(format_cell(cell))}}}"
            if cell.best
            else _escape_latex(format_cell(cell))
            for cell in row
        ]
        # LaTeX would read a bracket at the start of a row as an argument of the previous row.
        lines.append(("{}" if cells[0].startswith("[") else "") + " & ".join(cells) + r" \\")
    # As comments, since authors put notes in the caption or the text of a paper.
    notes = [f"% {note}" for note in _escape_notes(grid)]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", *notes, ""])


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    "\N{DAGGER}": r"$^\dagger$",
    ">": r"\textgreater{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))


def find_number_columns(grid: Grid) -> set[int]:
    """Return the indices of columns with numbers, which are right-aligned."""
    return {
        column
        for column in range(len(grid.columns))
        if any(isinstance(row[column].value, float) for row in grid.rows)
    }


def format_cell(cell: Cell) -> str:
    """Format a cell for display, such as `0.435` or `0.435 [0.431, 0.439]`."""
    return " ".join(format_cell_parts(cell))


# NaN, such as the score of a SPICE category without tuples in the references.
_NO_NUMBER = "\N{EN DASH}"
# Image ids and names come from untrusted files, and control characters in them could control the terminal.
_CONTROLS = {code: repr(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0))}


def escape_controls(text: str) -> str:
    r"""Escape control characters, as in `\x1b`, so that a terminal displays them."""
    return text.translate(_CONTROLS)


def format_cell_parts(cell: Cell) -> tuple[str, ...]:
    """Return the displayed number or text of a cell and, if it has one, its interval."""
    if not isinstance(cell.value, float):
        return ("" if cell.value is None else escape_controls(str(cell.value)),)
    if math.isnan(cell.value):
        return (_NO_NUMBER,)
    if cell.text:
        return (cell.text,)
    number = _format_number(cell.value, cell.digits) + cell.mark
    if cell.low is None or cell.high is None:
        return (number,)
    ends = (_format_number(end, cell.digits) for end in (cell.low, cell.high))
    return number, f"[{', '.join(ends)}]"


def _format_number(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    # A small negative number is displayed as 0, without a sign.
    return text.removeprefix("-") if float(text) == 0 else text
