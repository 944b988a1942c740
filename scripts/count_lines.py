"""Lines of code per package and crate.

Tests, migrations, stubs, docstrings, comments and blank lines are not counted.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.rust_source import read_product_code
from scripts.source_tree import format_table, list_packages, make_parser, parse_arguments, write_report

__all__ = ["count_python_lines", "count_rust_lines", "main", "measure"]

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def count_python_lines(text: str) -> int:
    """Return the number of lines of code, without strings as statements."""
    strings = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    docstring_lines = {line for first, last in strings for line in range(first, last + 1)}
    code_lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            code_lines.update(range(token.start[0], token.end[0] + 1))
    blank_lines = {number for number, line in enumerate(text.splitlines(), 1) if not line.strip()}
    return len(code_lines - docstring_lines - blank_lines)


def count_rust_lines(path: Path) -> int:
    """Return the number of lines of code of a file, without its test items."""
    return sum(bool(line.strip()) for line in read_product_code(path).splitlines())


def measure(root: Path, depth: int = 1) -> dict[str, Any]:
    """Return files and lines of each package, and the lines per language."""
    files: Counter[tuple[str, str]] = Counter()
    lines: Counter[tuple[str, str]] = Counter()
    for package in list_packages(root):
        is_python = package.language == "Python"
        for path in package.list_files():
            key = (package.get_part(path, depth), package.language)
            files[key] += 1
            lines[key] += (
                count_python_lines(path.read_text(encoding="utf-8")) if is_python else count_rust_lines(path)
            )
    rows: list[dict[str, Any]] = [
        {
            "package": name,
            "language": language,
            "files": files[name, language],
            "lines": lines[name, language],
        }
        for name, language in files
    ]
    totals: Counter[str] = Counter()
    for row in rows:
        totals[row["language"]] += row["lines"]
    return {"packages": rows, "totals": dict(totals)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines of code."""
    parser = make_parser("count_lines", __doc__)
    parser.add_argument("--depth", type=int, default=1, help="levels of folders to list (default: 1)")
    options = parse_arguments(parser, arguments)
    report = measure(options.root, options.depth)
    totals = "".join(f"{language}: {lines:,} lines\n" for language, lines in report["totals"].items())
    write_report(report, format_table(report["packages"]) + totals, as_json=options.json)


if __name__ == "__main__":
    main()
