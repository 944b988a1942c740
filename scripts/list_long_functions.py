"""Functions with more than 40 or 60 lines, in Python and Rust."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from scripts.rust_source import Function, list_functions, mask, remove_tests
from scripts.source_tree import (
    Package,
    format_table,
    list_packages,
    make_parser,
    parse_arguments,
    write_report,
)

__all__ = ["LIMITS", "list_python_functions", "main", "measure"]

LIMITS = (40, 60)


def list_python_functions(text: str) -> Iterator[Function]:
    """Yield the functions, counted from `def` to their last line, without decorators."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1)


def _list_functions(package: Package, path: Path, *, with_tests: bool) -> list[Function]:
    text = path.read_text(encoding="utf-8")
    if package.language == "Python":
        return list(list_python_functions(text))
    return list(list_functions(mask(text) if with_tests else remove_tests(mask(text))))


def measure(root: Path, *, with_tests: bool = False) -> dict[str, Any]:
    """Return the counts of each package, and the long functions, longest first."""
    rows: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    for package in list_packages(root):
        sizes = []
        for path in package.list_all_files() if with_tests else package.list_files():
            for function in _list_functions(package, path, with_tests=with_tests):
                sizes.append(function.lines)
                if function.lines > min(LIMITS):
                    place = f"{path.relative_to(root).as_posix()}:{function.line}"
                    found.append({"lines": function.lines, "function": function.name, "place": place})
        counts = {f"over_{limit}": sum(size > limit for size in sizes) for limit in LIMITS}
        longest = max(sizes, default=0)
        row = {"package": package.name, "language": package.language, "functions": len(sizes)}
        rows.append({**row, **counts, "longest": longest})
    found.sort(key=lambda row: (-row["lines"], row["place"]))
    return {"packages": rows, "functions": found}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the long functions."""
    parser = make_parser("list_long_functions", __doc__)
    parser.add_argument(
        "--with-tests", action="store_true", help="include tests, migrations, benches and examples"
    )
    options = parse_arguments(parser, arguments)
    report = measure(options.root, with_tests=options.with_tests)
    text = f"{format_table(report['packages'])}\n{format_table(report['functions'])}"
    write_report(report, text, as_json=options.json)


if __name__ == "__main__":
    main()
