"""Import cycles and upward imports of Python packages and Rust crates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from scripts.import_graph import (
    Import,
    find_cycles,
    list_crate_dependencies,
    list_imports,
    list_python_modules,
    list_rust_imports,
    make_graph,
)
from scripts.layers import CRATES, LAYERS, SEPARATE, USERS, find_folder, find_layer
from scripts.source_tree import (
    Package,
    format_table,
    list_packages,
    make_parser,
    parse_arguments,
    write_report,
)

__all__ = ["is_upward", "main", "measure"]


def is_upward(importer: str, imported: str) -> bool:
    """Return whether the layers forbid an import of one Python module from another."""
    package, other_package = importer.partition(".")[0], imported.partition(".")[0]
    if package != other_package:
        return other_package in USERS.get(package, set())
    if package not in LAYERS:
        return False
    layer, other = find_layer(importer), find_layer(imported)
    if layer is None or other is None:
        return False
    pair = {_get_part(importer, "."), _get_part(imported, ".")}
    return other > layer or any(pair == set(separate) for separate in SEPARATE)


def _get_part(module: str, separator: str) -> str:
    """Return the first-level module or subpackage that contains a module."""
    return separator.join(module.split(separator)[: 2 if separator == "." else 1])


def _get_folder(module: str, separator: str) -> str:
    """Return the folder with a layer, or the first-level part."""
    return find_folder(module) or _get_part(module, separator)


def _list_cycles(pairs: Sequence[tuple[str, str]], separator: str) -> dict[str, list[list[str]]]:
    parts = [
        (_get_folder(importer, separator), _get_folder(imported, separator)) for importer, imported in pairs
    ]
    return {"part_cycles": find_cycles(make_graph(parts)), "module_cycles": find_cycles(make_graph(pairs))}


def _check_package(package: Package, imports: Sequence[Import]) -> dict[str, Any]:
    modules = list_python_modules([package])
    own = [one for one in imports if one.importer in modules]
    inner = {(one.importer, one.imported) for one in own if one.imported in modules} - {
        (module, module) for module in modules
    }
    early = {(one.importer, one.imported) for one in own if one.kind != "deferred"}
    # Excludes `__init__` of the package: it imports public names from all layers, and no other module imports
    # it.
    below_root = sorted(pair for pair in inner if package.name not in pair)
    without = {module for module in modules if find_layer(module) is None}
    return {
        "package": package.name,
        "language": "Python",
        "modules": len(modules),
        "imports": len(inner),
        "deferred": len(inner - early),
        **_list_cycles(below_root, "."),
        "upward": [one._asdict() for one in sorted(set(own)) if is_upward(one.importer, one.imported)],
        "without_layer": sorted(without),
    }


def _check_crate(crate: Package, dependencies: Sequence[tuple[str, str]]) -> dict[str, Any]:
    pairs = sorted({pair for pair in list_rust_imports(crate) if pair[0] != pair[1]})
    allowed = CRATES.get(crate.folder.name, set())
    is_known = crate.folder.name in CRATES
    upward = sorted({other for name, other in dependencies if name == crate.name and other not in allowed})
    return {
        "package": crate.name,
        "language": "Rust",
        "modules": len(crate.list_files()),
        "imports": len(pairs),
        "deferred": 0,
        **_list_cycles([pair for pair in pairs if "crate" not in pair], "::"),
        "upward": [Import(crate.name, other, "crate")._asdict() for other in upward] if is_known else [],
        "without_layer": [] if is_known else [crate.name],
    }


def measure(root: Path) -> dict[str, Any]:
    """Return cycles and upward imports of each package, and crate cycles."""
    packages = list_packages(root)
    crates = [package for package in packages if package.language == "Rust"]
    python = [package for package in packages if package.language == "Python"]
    imports = list(list_imports(list_python_modules(python)))
    dependencies = list(list_crate_dependencies(crates))
    checked = [_check_package(package, imports) for package in python]
    checked += [_check_crate(crate, dependencies) for crate in crates]
    return {"packages": checked, "crate_cycles": find_cycles(make_graph(dependencies))}


def _format(report: dict[str, Any]) -> Iterator[str]:
    yield format_table(
        [
            {key: len(value) if isinstance(value, list) else value for key, value in row.items()}
            for row in report["packages"]
        ]
    )
    for row in report["packages"]:
        for key in ("part_cycles", "module_cycles"):
            kind = key.removesuffix("_cycles")
            yield from (f"{row['package']}: {kind} cycle: {', '.join(cycle)}\n" for cycle in row[key])
        for one in row["upward"]:
            yield f"upward import: {one['importer']} imports {one['imported']} ({one['kind']})\n"
        yield from (
            f"{row['package']}: no layer in scripts/layers.py: {part}\n" for part in row["without_layer"]
        )
    yield from (f"crate cycle: {', '.join(cycle)}\n" for cycle in report["crate_cycles"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the cycles and the upward imports."""
    options = parse_arguments(make_parser("check_imports", __doc__), arguments)
    report = measure(options.root)
    write_report(report, "".join(_format(report)), as_json=options.json)


if __name__ == "__main__":
    main()
