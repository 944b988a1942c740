"""Codemod that moves modules and renames public names in all tracked files.

`python -m scripts.rename TABLE` applies a TOML table of old and new names, once. In Python modules, it uses
the syntax tree to change imports, the names that they bind, and programs in strings. In all text files, it
changes dotted names and paths. Run ruff and mypy afterwards to find the remaining places.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

__all__ = ["Edit", "Table", "apply_edits", "list_python_edits", "list_text_edits", "main", "read_table"]

PROJECT = Path(__file__).parents[1]
ROOTS = ("src/", "server/src/", "decoding/src/", "")
# Recordings and histories keep old names.
UNTOUCHED = ("goldens/", "scripts/renames.toml", "scripts/goldens/names.py", "CHANGELOG.md")
_DOTTED = re.compile(r"(?<![\w./-])(?:capeval\w*|tests|examples|scripts)(?:\.\w+)+")
_PATH = re.compile(r"(?<![\w./-])(?:[\w-]+/)+[\w.-]+")


class Edit(NamedTuple):
    """Replacement of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Table:
    """Old and new names.

    Attributes:
        modules: Dotted names of modules and packages.
        names: Public names in modules, as `module:name`.
        paths: Files, and folders with a slash at the end.
        stored: Strings that look like module names but must not change: salts, stored names.
    """

    modules: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    stored: tuple[str, ...] = ()

    def resolve(self, module: str, name: str) -> tuple[str, str]:
        """Return the new module and name of a name imported from a module."""
        if entry := self.names.get(f"{module}:{name}"):
            new_module, _, new_name = entry.partition(":")
            return new_module, new_name
        if entry := self.modules.get(f"{module}.{name}"):
            parent, _, leaf = entry.rpartition(".")
            return parent, leaf
        return self.modules.get(module, module), name

    def move_dotted(self, dotted: str) -> str:
        """Return the new form of a dotted name that begins with a module."""
        parts = dotted.split(".")
        for size in range(len(parts), 0, -1):
            module, rest = ".".join(parts[:size]), parts[size:]
            if rest and (entry := self.names.get(f"{module}:{rest[0]}")):
                return ".".join([*entry.split(":"), *rest[1:]])
            if entry := self.modules.get(module):
                return ".".join([entry, *rest])
        return dotted

    def move_path(self, path: str) -> str:
        """Return the new path of a file of the project."""
        for prefix in sorted(self.paths, key=len, reverse=True):
            if path == prefix or (prefix.endswith("/") and path.startswith(prefix)):
                path = self.paths[prefix] + path[len(prefix) :]
                break
        root = next(root for root in ROOTS if path.startswith(root))
        stem, dot, suffix = path.removeprefix(root).partition(".")
        module = stem.removesuffix("/__init__").replace("/", ".")
        if module not in self.modules:
            return path
        package = "/__init__" if stem.endswith("/__init__") else ""
        return root + self.modules[module].replace(".", "/") + package + dot + suffix


def read_table(path: Path) -> Table:
    """Return the table in a TOML file."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    stored = tuple(content.get("stored", {}).get("strings", ()))
    return Table(**{key: content.get(key, {}) for key in ("modules", "names", "paths")}, stored=stored)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits applied; they must not overlap."""
    for edit in sorted(set(edits), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def list_text_edits(text: str, table: Table) -> Iterator[Edit]:
    """Yield edits of dotted names and of paths in a text."""
    kept = [match.span() for string in table.stored for match in re.finditer(re.escape(string), text)]
    for pattern, move in ((_DOTTED, table.move_dotted), (_PATH, table.move_path)):
        for match in pattern.finditer(text):
            is_kept = any(start <= match.start() and match.end() <= end for start, end in kept)
            if not is_kept and (moved := move(match[0])) != match[0]:
                yield Edit(*match.span(), moved)


def list_python_edits(source: str, module: str, table: Table) -> list[Edit]:
    """Return the edits of a module: by syntax tree, then dotted names and paths.

    Args:
        source: Source of the module.
        module: Old name of the module.
        table: Old and new names.

    Raises:
        ValueError: A new name already has a different meaning in the same scope.
    """
    tree = ast.parse(source)
    offsets = _Offsets(source)
    edits = [edit for scope in _list_scopes(tree) for edit in _edit_scope(scope, offsets, module, table)]
    spans = [(edit.start, edit.end) for edit in edits]
    spans += [offsets.span(node) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    for start, program in _list_programs(tree, offsets):
        edits += [
            Edit(start + edit.start, start + edit.end, edit.text)
            for edit in list_python_edits(program, "", table)
        ]
        spans.append((start, start + len(program)))
    for edit in list_text_edits(source, table):
        if not any(start < edit.end and edit.start < end for start, end in spans):
            edits.append(edit)
    return edits


def _list_scopes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the module and its functions: imports in a function bind names locally."""
    yield tree
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _list_own_imports(scope: ast.AST) -> Iterator[ast.ImportFrom]:
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, ast.ImportFrom):
            yield child
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _list_own_imports(child)


def _list_programs(tree: ast.Module, offsets: _Offsets) -> Iterator[tuple[int, str]]:
    """Yield the position and text of each program with imports in a string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import" in node.value:
            start, end = offsets.span(node)
            inside = offsets.source[start:end].find(node.value)
            if inside >= 0 and "\n" in node.value and _is_program(node.value):
                yield start + inside, node.value


def _is_program(text: str) -> bool:
    try:
        return any(isinstance(node, ast.ImportFrom) for node in ast.walk(ast.parse(text)))
    except SyntaxError:
        return False


def _edit_scope(scope: ast.AST, offsets: _Offsets, module: str, table: Table) -> Iterator[Edit]:
    bound: dict[str, str] = {}
    imported: dict[str, str] = {}
    for statement in _list_own_imports(scope):
        yield from _edit_import(statement, offsets, table, bound, imported)
    if isinstance(scope, ast.Module):
        own = {
            name.partition(":")[2]: new.partition(":")[2]
            for name, new in table.names.items()
            if name.partition(":")[0] == module
        }
        bound |= own
    bound = {old: new for old, new in bound.items() if old != new}
    _check_free(scope, bound, module)
    for node in ast.walk(scope):
        match node:
            case ast.Name(id=name) if name in bound:
                yield offsets.edit(node, bound[name])
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) if name in bound:
                start = offsets.source.index(name, offsets.span(node)[0] + 4)
                yield Edit(start, start + len(name), bound[name])
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute) if owner in imported:
                _, new = table.resolve(imported[owner], attribute)
                if new != attribute:
                    end = offsets.span(node)[1]
                    yield Edit(end - len(attribute), end, new)
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=elements)):
                for element in elements:
                    if isinstance(element, ast.Constant) and element.value in bound:
                        yield offsets.edit(element, f'"{bound[element.value]}"')


def _check_free(scope: ast.AST, bound: Mapping[str, str], module: str) -> None:
    nodes = list(ast.walk(scope))
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
    names = {node.id for node in nodes if isinstance(node, ast.Name)} | arguments
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} | arguments
    for old, new in bound.items():
        if new in names or old in stored:
            raise ValueError(
                f"{module}: cannot rename {old!r} to {new!r}: one of them has a second meaning in this scope"
            )


def _edit_import(
    node: ast.ImportFrom, offsets: _Offsets, table: Table, bound: dict[str, str], imported: dict[str, str]
) -> Iterator[Edit]:
    module = node.module or ""
    groups: dict[str, list[str]] = {}
    is_changed = False
    for alias in node.names:
        new_module, new_name = table.resolve(module, alias.name)
        imported[alias.asname or alias.name] = f"{module}.{alias.name}"
        is_changed |= (new_module, new_name) != (module, alias.name)
        if alias.asname is None:
            bound[alias.name] = new_name
        is_plain = alias.asname in (None, new_name) and alias.asname != alias.name
        groups.setdefault(new_module, []).append(new_name if is_plain else f"{new_name} as {alias.asname}")
    if is_changed:
        lines = [f"from {group} import {', '.join(names)}" for group, names in groups.items()]
        yield offsets.edit(node, f"\n{' ' * node.col_offset}".join(lines))


class _Offsets:
    """Character offsets of syntax tree nodes in a source."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def _find(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the start and end offset of a node; the end is exclusive."""
        start = self._find(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self._find(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def edit(self, node: ast.AST, text: str) -> Edit:
        """Return the edit that replaces a node."""
        return Edit(*self.span(node), text)


def _list_files() -> list[str]:
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=PROJECT, capture_output=True, check=True, text=True)
    return [path for path in listed.stdout.split("\0") if path and (PROJECT / path).is_file()]


def _get_module_name(path: str) -> str:
    root = next(root for root in ROOTS if path.startswith(root))
    return re.sub(r"(/__init__)?\.pyi?$", "", path.removeprefix(root)).replace("/", ".")


def main() -> None:
    """Apply a table to the tracked files, and print modules to edit manually."""
    parser = argparse.ArgumentParser(prog="python -m scripts.rename", description=__doc__)
    parser.add_argument("table", type=Path, help="table like scripts/renames.toml, with only new rows")
    table = read_table(parser.parse_args().table)
    for path in _list_files():
        if path.startswith(UNTOUCHED):
            continue
        try:
            text = (PROJECT / path).read_text(encoding="utf-8")
            if path.endswith((".py", ".pyi")):
                edits = list_python_edits(text, _get_module_name(path), table)
            else:
                edits = list(list_text_edits(text, table))
        except UnicodeDecodeError:
            edits = []
        except ValueError as error:
            print(f"not changed: {error}", file=sys.stderr)
            continue
        if edits:
            (PROJECT / path).write_text(apply_edits(text, edits), encoding="utf-8")
        if (new := table.move_path(path)) != path:
            (PROJECT / new).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "mv", path, new], cwd=PROJECT, check=True)


if __name__ == "__main__":
    main()
