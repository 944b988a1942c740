"""Graphs of imports between Python modules, crates and Rust modules."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from scripts.rust_source import read_product_code
from scripts.source_tree import Package

__all__ = [
    "Graph",
    "Import",
    "find_cycles",
    "list_crate_dependencies",
    "list_imports",
    "list_python_modules",
    "list_rust_imports",
    "make_graph",
]

Graph = Mapping[str, set[str]]
_RUST_PATH = re.compile(r"(?<![:\w])\w+(?:\s*::\s*\w+)+")
_RUST_USE = re.compile(r"\buse\s+([^;]+);")


class Import(NamedTuple):
    """One import.

    Attributes:
        importer: Module that imports.
        imported: Imported module.
        kind: "module", "deferred" (inside a function), "type" (only for type checkers) or "crate".
    """

    importer: str
    imported: str
    kind: str


def make_graph(imports: Iterable[tuple[str, str]]) -> Graph:
    """Return the imports as a graph, without imports of a node from itself."""
    graph: dict[str, set[str]] = {}
    for importer, imported in imports:
        if importer != imported:
            graph.setdefault(importer, set()).add(imported)
            graph.setdefault(imported, set())
    return graph


def find_cycles(graph: Graph) -> list[list[str]]:
    """Return the groups of nodes that import each other, directly or not."""
    reached = {node: _reach(graph, node) for node in graph}
    groups = {
        frozenset(other for other in reached[node] if node in reached[other])
        for node in graph
        if node in reached[node]
    }
    return sorted(sorted(group) for group in groups)


def _reach(graph: Graph, start: str) -> set[str]:
    reached, waiting = set[str](), [start]
    while waiting:
        new = graph[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


def list_python_modules(packages: Iterable[Package]) -> dict[str, Path]:
    """Return the files of all modules by name, with stubs of native modules."""
    modules: dict[str, Path] = {}
    for package in packages:
        stubs = [path for path in package.source.rglob("*.pyi") if not path.with_suffix(".py").exists()]
        for path in [*package.list_files(), *stubs]:
            parts = path.relative_to(package.source.parent).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def list_imports(modules: Mapping[str, Path]) -> Iterator[Import]:
    """Yield the imports of the modules from each other."""
    for module, path in modules.items():
        package = module if path.stem == "__init__" else module.rpartition(".")[0]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, kind in _walk_imports(tree, package, "module"):
            imported = name
            while imported and imported not in modules:
                imported = imported.rpartition(".")[0]
            if imported:
                yield Import(module, imported, kind)


def _walk_imports(node: ast.AST, package: str, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the full name and the kind of each import below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, kind) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) + 1 - child.level])
            parts = [base] if child.level else []
            source = ".".join([*parts, child.module] if child.module else parts)
            yield from ((f"{source}.{alias.name}", kind) for alias in child.names)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for branch, inner in (child.body, "type"), (child.orelse, kind):
                yield from _walk_imports(ast.Module(body=branch, type_ignores=[]), package, inner)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _walk_imports(child, package, "deferred")
        else:
            yield from _walk_imports(child, package, kind)


def list_crate_dependencies(crates: Iterable[Package]) -> Iterator[tuple[str, str]]:
    """Yield the dependencies between crates, including those of tests."""
    crates = list(crates)
    names = {crate.name for crate in crates}
    for crate in crates:
        manifest = tomllib.loads((crate.folder / "Cargo.toml").read_text(encoding="utf-8"))
        for table in ("dependencies", "dev-dependencies", "build-dependencies"):
            for key, value in manifest.get(table, {}).items():
                name = value.get("package", key) if isinstance(value, dict) else key
                if name in names:
                    yield crate.name, name


def list_rust_imports(crate: Package) -> Iterator[tuple[str, str]]:
    """Yield the imports between the modules of a crate, without tests.

    Both `use` and paths in expressions are imports. Modules are named like `parser::source`; the crate's root
    is `crate`. A re-exported name belongs to the module that defines it. The re-export of a submodule's name
    is not an import.
    """
    modules = {_name_module(path.relative_to(crate.source)): path for path in crate.list_files()}
    codes = {module: read_product_code(path) for module, path in modules.items()}
    exports = {module: dict(_list_exports(module, code)) for module, code in codes.items()}
    for module, code in codes.items():
        for path in _list_paths(module, code, set(modules)):
            imported = _resolve(path, exports)
            if imported in modules:
                yield module, imported


def _name_module(path: Path) -> str:
    parts = [part for part in path.with_suffix("").parts if part not in ("lib", "main", "mod")]
    return "::".join(parts) or "crate"


def _list_exports(module: str, code: str) -> Iterator[tuple[str, str]]:
    """Yield the names that `pub use` adds to a module, with their full paths."""
    for match in re.finditer(r"\bpub(?:\s*\([^)]*\))?\s+use\s+([^;]+);", code):
        for path, name in _expand(match[1]):
            yield name, _make_full(path, module)


def _expand(tree: str) -> Iterator[tuple[str, str]]:
    """Yield path and bound name of each leaf of a tree as `a::{b, c::d as e}`."""
    tree = tree.strip()
    prefix, brace, rest = tree.partition("{")
    if not brace:
        path, _, alias = tree.partition(" as ")
        path = re.sub(r"\s", "", path).removesuffix("::self")
        yield path, alias.strip() or path.rpartition("::")[2]
        return
    depth, start = 0, 0
    inner = rest.rpartition("}")[0]
    for offset, character in enumerate(inner + ","):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            if piece := inner[start:offset].strip():
                yield from _expand(prefix + piece)
            start = offset + 1


def _list_paths(module: str, code: str, modules: set[str]) -> Iterator[str]:
    """Yield the full paths that a module's code names."""
    for match in _RUST_USE.finditer(code):
        is_export = code[: match.start()].rstrip().endswith(("pub", ")"))
        for path, _ in _expand(match[1]):
            full = _make_full(path, module)
            is_submodule = module == "crate" or full.startswith(f"{module}::")
            if not (is_export and is_submodule):
                yield full
    for match in _RUST_PATH.finditer(_RUST_USE.sub("", code)):
        path = re.sub(r"\s", "", match[0])
        first = path.partition("::")[0]
        if first in ("crate", "self", "super") or _make_full(first, module) in modules:
            yield _make_full(path, module)


def _make_full(path: str, module: str) -> str:
    """Return the absolute path of a path in a module, without `crate::`."""
    parts = path.split("::")
    here = [] if module == "crate" else module.split("::")
    if parts[0] == "crate":
        return "::".join(parts[1:])
    while parts[:1] in (["self"], ["super"]):
        here = here[:-1] if parts[0] == "super" else here
        parts = parts[1:]
    return "::".join([*here, *parts])


def _resolve(path: str, exports: Mapping[str, Mapping[str, str]]) -> str:
    """Return the module that defines a path's name, `crate` for the root."""
    for _ in exports:
        module, rest = "crate", path.split("::")
        while rest and (inner := "::".join([module, rest[0]]).removeprefix("crate::")) in exports:
            module, rest = inner, rest[1:]
        if not rest or rest[0] not in exports[module]:
            return module
        path = "::".join([exports[module][rest[0]], *rest[1:]])
    return ""
