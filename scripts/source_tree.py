"""Packages, crates and source files of a checkout, and output helpers for scripts."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from scripts.rust_source import list_test_files

__all__ = [
    "PROJECT",
    "Package",
    "format_table",
    "list_packages",
    "make_parser",
    "parse_arguments",
    "share",
    "write_report",
]

PROJECT = Path(__file__).parents[1]
_SKIPPED_FOLDERS = {"__pycache__", "build", "dist", "node_modules", "site", "target", "tests"}
_UNCOUNTED_FOLDERS = {"migrations", "tests"}


@dataclass(frozen=True)
class Package:
    """A Python package, or a Rust crate.

    Attributes:
        name: Import name of the package, or name of the crate.
        language: Programming language.
        folder: Folder of `__init__.py`, or of `Cargo.toml`.
    """

    name: str
    language: Literal["Python", "Rust"]
    folder: Path

    @property
    def source(self) -> Path:
        """Folder of the product's source files."""
        return self.folder if self.language == "Python" else self.folder / "src"

    def list_files(self) -> list[Path]:
        """Return the product's source files, without tests, migrations and stubs."""
        if self.language == "Python":
            return [path for path in sorted(self.source.rglob("*.py")) if self._is_counted(path)]
        paths = sorted(self.source.rglob("*.rs"))
        tests = {test for path in paths for test in list_test_files(path)}
        return [path for path in paths if not tests & {path, *path.parents}]

    def list_all_files(self) -> list[Path]:
        """Return all source files, also tests, migrations, benches and examples."""
        return sorted(self.folder.rglob("*.py" if self.language == "Python" else "*.rs"))

    def get_part(self, path: Path, depth: int) -> str:
        """Return the subpackage that contains a file, at most `depth` names long."""
        return "/".join([self.name, *path.parent.relative_to(self.source).parts][:depth])

    def _is_counted(self, path: Path) -> bool:
        is_test = path.name.startswith("test_") or path.name == "conftest.py"
        return not is_test and not _UNCOUNTED_FOLDERS & set(path.relative_to(self.source).parts)


def list_packages(root: Path) -> list[Package]:
    """Return the crates, and the Python packages in `src` folders, by name."""
    packages = []
    for folder in _walk_folders(root):
        if folder.name == "src":
            inits = folder.glob("*/__init__.py")
            packages += [Package(init.parent.name, "Python", init.parent) for init in inits]
        if (folder / "Cargo.toml").is_file():
            manifest = tomllib.loads((folder / "Cargo.toml").read_text(encoding="utf-8"))
            if "package" in manifest:
                packages.append(Package(manifest["package"]["name"], "Rust", folder))
    return sorted(packages, key=lambda package: (package.language, package.name, package.folder))


def _walk_folders(root: Path) -> Iterator[Path]:
    for folder, names, _ in os.walk(root):
        names[:] = sorted(name for name in names if name not in _SKIPPED_FOLDERS and name[0] != ".")
        yield Path(folder)


def make_parser(program: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options shared by all scripts."""
    parser = argparse.ArgumentParser(prog=f"python -m scripts.{program}", description=description)
    parser.add_argument("--json", action="store_true", help="write JSON instead of tables")
    return parser


def parse_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments; `root` is the absolute path of the checkout to read."""
    parser.add_argument("--root", type=Path, default=PROJECT, help="checkout to read (default: this one)")
    options = parser.parse_args(arguments)
    options.root = options.root.resolve()
    if not list_packages(options.root):
        parser.error(
            f"no Python package in a 'src' folder and no crate in {options.root}; set --root to a checkout"
        )
    return options


def share(part: int, whole: int) -> float:
    """Return a percentage, rounded to one decimal; 0 if the whole is empty."""
    return round(100 * part / whole, 1) if whole else 0.0


def format_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as a plain-text table with a header and right-aligned numbers."""
    if not rows:
        return "(none)\n"
    cells = [[key.replace("_", " ") for key in rows[0]]]
    cells += [
        [f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()] for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_number = [isinstance(value, int | float) for value in rows[0].values()]
    lines = []
    for line in cells:
        columns = zip(line, widths, is_number, strict=True)
        padded = [cell.rjust(width) if number else cell.ljust(width) for cell, width, number in columns]
        lines.append("  ".join(padded).rstrip() + "\n")
    return "".join(lines)


def write_report(report: dict[str, Any], text: str, *, as_json: bool) -> None:
    """Write a report to standard output, as JSON or as its text."""
    sys.stdout.write(json.dumps(report, indent=2) + "\n" if as_json else text)
