"""Codemod that moves modules and renames names as scripts/renames.toml says."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

__all__ = ["Edit", "Table", "apply_edits", "list_python_edits", "list_text_edits", "main", "read_table"]

PROJECT = Path(__file__).parents[1]
TABLE = PROJECT / "scripts" / "renames.toml"

# Recordings and the table itself name what was.
UNTOUCHED = ("goldens/", "scripts/renames.toml", "scripts/goldens/names.py", "CHANGELOG.md")
_DOTTED = re.compile(r"(?<![\w./-])(?:capeval\w*|tests|scripts)(?:\.\w+)+")
_PATH = re.compile(r"(?<![\w.-])(?:[a-z]+/)*?(?:capeval\w*|tests|scripts)(?:/[\w.*-]+)+/?")


class Edit(NamedTuple):
    """Replacement of the characters from start to end."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Table:
    """Old and new names.

    Attributes:
        modules: Dotted names of modules and packages.
        names: Names in modules, as `module:name`.
        paths: Files, and folders with a slash at the end.
        stored: Strings that look like module names and stay: salts, stored names.
    """

    modules: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    stored: tuple[str, ...] = ()

    def move(self, module: str) -> str:
        """Return the new name of a module; a name without an entry stays."""
        return self.modules.get(module, module)

    def resolve(self, module: str, name: str) -> tuple[str, str]:
        """Return the new module and name of an imported name."""
        if entry := self.names.get(f"{module}:{name}"):
            new_module, _, new_name = entry.partition(":")
            return new_module, new_name
        if entry := self.modules.get(f"{module}.{name}"):
            parent, _, leaf = entry.rpartition(".")
            return parent, leaf
        return self.move(module), name

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


def read_table(path: Path = TABLE) -> Table:
    """Return the table of old and new names."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    stored = tuple(content.get("stored", {}).get("strings", ()))
    tables = {key: content.get(key, {}) for key in ("modules", "names", "paths")}
    return Table(**tables, stored=stored)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with its edits, which must not overlap."""
    for edit in sorted(set(edits), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def list_text_edits(text: str, table: Table, files: Mapping[str, str]) -> Iterator[Edit]:
    """Yield edits of dotted names and paths anywhere in a text.

    Args:
        text: The text.
        table: Old and new names.
        files: New paths of moved files and folders.
    """
    kept = [match.span() for string in table.stored for match in re.finditer(re.escape(string), text)]
    for match in _DOTTED.finditer(text):
        if not any(start <= match.start() and match.end() <= end for start, end in kept):
            moved = table.move_dotted(match[0])
            if moved != match[0]:
                yield Edit(*match.span(), moved)
    for match in _PATH.finditer(text):
        moved = _move_path(match[0], files)
        if moved != match[0]:
            yield Edit(*match.span(), moved)


def _move_path(path: str, files: Mapping[str, str]) -> str:
    stem = path.rstrip("/.")
    tail = path[len(stem) :]
    for prefix in ("", "src/", "src/capeval/", "server/src/capeval_server/"):
        full = prefix + stem
        for size in range(full.count("/") + 1, 0, -1):
            head = "/".join(full.split("/")[:size])
            if head in files:
                moved = files[head] + full[len(head) :] + tail
                return moved.removeprefix(prefix) if prefix == "src/" else moved
    return path


def list_python_edits(source: str, module: str, table: Table) -> Iterator[Edit]:
    """Yield edits of imports, and of the names that they bind.

    Args:
        source: A module's source.
        module: The module's own old name.
        table: Old and new names.

    Raises:
        ValueError: A new name is already used in the module.
    """
    tree = ast.parse(source)
    offsets = _Offsets(source)
    local: dict[str, str] = {}
    imported: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from _edit_import(node, offsets, table, local, imported)
    local |= {
        old.partition(":")[2]: new.partition(":")[2]
        for old, new in table.names.items()
        if old.partition(":")[0] == module
    }
    local = {old: new for old, new in local.items() if old != new}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} | {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for old, new in local.items():
        if new in used or old in bound:
            raise ValueError(f"{module}: {old} -> {new}: the name is already used")
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in local:
                yield offsets.edit(node, local[name])
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) if name in local and node in tree.body:
                start = source.index(name, offsets.start(node) + 5)
                yield Edit(start, start + len(name), local[name])
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute) if owner in imported:
                entry = table.names.get(f"{imported[owner]}:{attribute}")
                if entry and entry.partition(":")[2] != attribute:
                    end = offsets.end(node)
                    yield Edit(end - len(attribute), end, entry.partition(":")[2])
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=elements)):
                for element in elements:
                    if isinstance(element, ast.Constant) and element.value in local:
                        yield offsets.edit(element, f'"{local[element.value]}"')


def _edit_import(
    node: ast.ImportFrom, offsets: _Offsets, table: Table, local: dict[str, str], imported: dict[str, str]
) -> Iterator[Edit]:
    module = node.module or ""
    groups: dict[str, list[str]] = {}
    changed = False
    for alias in node.names:
        new_module, new_name = table.resolve(module, alias.name)
        imported[alias.asname or alias.name] = f"{module}.{alias.name}"
        changed |= (new_module, new_name) != (module, alias.name)
        if alias.asname is None:
            local[alias.name] = new_name
            groups.setdefault(new_module, []).append(new_name)
        else:
            same = new_name == alias.asname and alias.asname != alias.name
            groups.setdefault(new_module, []).append(new_name if same else f"{new_name} as {alias.asname}")
    if not changed:
        return
    indent = " " * node.col_offset
    lines = [f"from {group} import {', '.join(names)}" for group, names in groups.items()]
    yield offsets.edit(node, f"\n{indent}".join(lines))


class _Offsets:
    """Positions of nodes in the characters of a source."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def _position(self, line: int, column: int) -> int:
        characters = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(characters)

    def start(self, node: ast.AST) -> int:
        return self._position(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self._position(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def edit(self, node: ast.AST, text: str) -> Edit:
        """Return the edit that replaces a node."""
        return Edit(self.start(node), self.end(node), text)


def _list_files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, check=True, text=True
    )
    return [path for path in listed.stdout.split("\0") if path and (PROJECT / path).is_file()]


def _name_module(path: str) -> str:
    dotted = path.removesuffix(".pyi").removesuffix(".py").replace("/", ".")
    for root in ("server.src.", "decoding.src.", "src."):
        dotted = dotted.removeprefix(root)
    return dotted.removesuffix(".__init__")


def _list_moves(files: Iterable[str], table: Table) -> dict[str, str]:
    """Return the new path of each file that moves."""
    files = list(files)
    packages = {_name_module(path) for path in files if path.endswith("/__init__.py")}
    new_parents = {new.rpartition(".")[0] for new in table.modules.values()}
    moves: dict[str, str] = {}
    for path in files:
        root, old = _split_root(path)
        new = table.paths.get(path, path)
        if new == path and root is not None:
            module = _name_module(path)
            suffix = "".join(Path(path).suffixes) or ""
            entry = table.modules.get(module)
            if entry is not None and path.endswith(("__init__.py",)):
                is_package = entry in new_parents or (
                    module in packages and entry.count(".") == module.count(".")
                )
                new = root + entry.replace(".", "/") + ("/__init__.py" if is_package else ".py")
            elif entry is not None:
                new = root + entry.replace(".", "/") + suffix
            else:
                new = root + _move_prefix(old, packages, table)
        for prefix, target in table.paths.items():
            if new == prefix or (prefix.endswith("/") and new.startswith(prefix)):
                new = target + new[len(prefix) :]
                break
        if new != path:
            moves[path] = new
    return moves


def _split_root(path: str) -> tuple[str | None, str]:
    for root in ("server/src/", "decoding/src/", "src/"):
        if path.startswith(root):
            return root, path.removeprefix(root)
    return ("", path) if path.startswith(("tests/", "scripts/")) else (None, path)


def _move_prefix(path: str, packages: set[str], table: Table) -> str:
    """Return the new path of a file that follows its package."""
    parts = path.split("/")
    for size in range(len(parts) - 1, 0, -1):
        package = ".".join(parts[:size])
        if package in table.modules and package in packages:
            return "/".join([*table.modules[package].split("."), *parts[size:]])
    return path


def main() -> None:
    """Apply the table to the tracked files."""
    table = read_table()
    files = _list_files()
    moves = _list_moves(files, table)
    names = dict(moves)
    for old, new in moves.items():
        if old.endswith("/__init__.py") and new.endswith("/__init__.py"):
            names.setdefault(old.removesuffix("/__init__.py"), new.removesuffix("/__init__.py"))
        names.setdefault(old.removesuffix(".py"), new.removesuffix(".py"))
    names |= {old.rstrip("/"): new.rstrip("/") for old, new in table.paths.items()}
    problems = []
    for path in files:
        if path.startswith(UNTOUCHED):
            continue
        try:
            text = (PROJECT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        edits = list(list_text_edits(text, table, names))
        if path.endswith((".py", ".pyi")):
            try:
                python = list(list_python_edits(text, _name_module(path), table))
            except ValueError as error:
                problems.append(str(error))
                continue
            spans = [(edit.start, edit.end) for edit in python]
            spans += _list_import_spans(text)
            edits = [edit for edit in edits if not any(a < edit.end and edit.start < b for a, b in spans)]
            edits += python
        if edits:
            (PROJECT / path).write_text(apply_edits(text, edits), encoding="utf-8")
    for old, new in moves.items():
        (PROJECT / new).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "mv", old, new], cwd=PROJECT, check=True)
    print("\n".join(problems))


def _list_import_spans(source: str) -> list[tuple[int, int]]:
    offsets = _Offsets(source)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return [(offsets.start(node), offsets.end(node)) for node in nodes]


if __name__ == "__main__":
    main()
