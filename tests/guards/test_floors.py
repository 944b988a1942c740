"""Imports go down only: the floors of the Python packages, and of the Rust workspace."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.layers import CRATES, ROOT_LAYER, SEPARATE, USERS, get_layers

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "src" / "capeval"
SERVER = PROJECT / "src" / "capeval_server"
BASELINES = PROJECT / "src" / "capeval_baselines"

# The floor of each module or folder of a package, from the ground up.
FLOOR = get_layers("capeval")
FACE = FLOOR[ROOT_LAYER["capeval"]]
SERVER_FLOOR = get_layers("capeval_server")
BASELINES_FLOOR = get_layers("capeval_baselines")
# The metrics that others may import: what all are made of, and the list of all.
SHARED_METRICS = ("base", "registry", "__init__")


def modules(package: Path) -> Iterator[tuple[tuple[str, ...], Path]]:
    """Each module as its parts below a package."""
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")]):
        yield path.relative_to(package).with_suffix("").parts, path


def imports(path: Path) -> Iterator[str]:
    """The full names of what a module imports, wherever in the module it does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports must name the whole module"
            module = node.module or ""
            yield from (f"{module}.{alias.name}" for alias in node.names)


def imports_of(package: str, path: Path) -> Iterator[tuple[str, ...]]:
    """The parts, below a package, of what a module imports from it."""
    for name in imports(path):
        first, *parts = name.split(".")
        if first == package:
            yield tuple(parts)


def floor_of(part: str) -> int:
    # `from capeval import Name` takes from the package's face.
    return FLOOR.get(part, FACE)


MODULES = list(modules(PACKAGE))
SERVER_MODULES = list(modules(SERVER))
BASELINES_MODULES = list(modules(BASELINES))


def test_the_scan_finds_the_package() -> None:
    found = {parts[0] for parts, _ in MODULES}
    assert {"errors", "types", "_native", "metrics", "evaluation"} <= found


def test_every_module_has_a_floor() -> None:
    unknown = {parts[0] for parts, _ in MODULES} - set(FLOOR)
    assert unknown == set(), "give these modules a layer in scripts/layers.py"


@pytest.mark.parametrize(("parts", "path"), MODULES, ids=[".".join(parts) for parts, _ in MODULES])
def test_imports_go_down_only(parts: tuple[str, ...], path: Path) -> None:
    for imported in imports_of("capeval", path):
        floor = floor_of(imported[0]) if imported else FACE
        assert floor <= FLOOR[parts[0]], f"{'.'.join(parts)} imports capeval.{'.'.join(imported)} from above"


@pytest.mark.parametrize(
    ("parts", "path"), [(parts, path) for parts, path in MODULES if parts[0] == "metrics"], ids=str
)
def test_no_metric_imports_another(parts: tuple[str, ...], path: Path) -> None:
    if parts[-1] in SHARED_METRICS:
        return
    metrics = {other[1] for other, _ in MODULES if other[0] == "metrics" and len(other) > 1}
    for imported in imports_of("capeval", path):
        if imported[0] == "metrics":
            assert imported[1:2] in (("base",), ("registry",)), (
                f"{'.'.join(parts)} imports {'.'.join(imported)}"
            )
    assert parts[1] in metrics


def test_the_guard_sees_wrong_imports(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("def f():\n    from capeval import cli\n    import capeval.metrics.bleu\n")
    assert list(imports_of("capeval", module)) == [("cli",), ("metrics", "bleu")]
    assert floor_of("cli") > floor_of("metrics") > floor_of("types")


def test_the_scan_finds_the_server() -> None:
    found = {parts[0] for parts, _ in SERVER_MODULES}
    assert found == set(SERVER_FLOOR), (
        "each of the server's modules and folders has a layer in scripts/layers.py"
    )


@pytest.mark.parametrize(
    ("parts", "path"), SERVER_MODULES, ids=["server." + ".".join(parts) for parts, _ in SERVER_MODULES]
)
def test_imports_of_the_server_go_down_only(parts: tuple[str, ...], path: Path) -> None:
    for imported in imports_of("capeval_server", path):
        name = ".".join(imported)
        assert SERVER_FLOOR[imported[0]] <= SERVER_FLOOR[parts[0]], (
            f"{'.'.join(parts)} imports {name} from above"
        )
        assert {imported[0], parts[0]} != SEPARATE["capeval_server"], f"{'.'.join(parts)} imports {name}"


def test_the_scan_finds_the_baselines() -> None:
    found = {parts[0] for parts, _ in BASELINES_MODULES}
    assert found == set(BASELINES_FLOOR), "each module of the baselines has a layer in scripts/layers.py"


@pytest.mark.parametrize(
    ("parts", "path"),
    BASELINES_MODULES,
    ids=["baselines." + ".".join(parts) for parts, _ in BASELINES_MODULES],
)
def test_imports_of_the_baselines_go_down_only(parts: tuple[str, ...], path: Path) -> None:
    for imported in imports_of("capeval_baselines", path):
        name = ".".join(imported)
        assert BASELINES_FLOOR[imported[0]] <= BASELINES_FLOOR[parts[0]], (
            f"{'.'.join(parts)} imports {name} from above"
        )


def test_what_stands_on_the_package_is_never_imported() -> None:
    for _, path in (*MODULES, *BASELINES_MODULES, *SERVER_MODULES):
        package = path.relative_to(PROJECT / "src").parts[0]
        assert not USERS[package] & {name.split(".")[0] for name in imports(path)}, path


def test_the_scan_finds_the_crates() -> None:
    assert {path.parent.name for path in PROJECT.glob("crates/*/Cargo.toml")} == set(CRATES)


@pytest.mark.parametrize("crate", CRATES)
def test_crates_depend_downwards_only(crate: str) -> None:
    manifest = tomllib.loads((PROJECT / "crates" / crate / "Cargo.toml").read_text(encoding="utf-8"))
    named = {
        name
        for table in ("dependencies", "dev-dependencies", "build-dependencies")
        for name in manifest.get(table, {})
        if name.startswith("capeval")
    }
    assert named <= CRATES[crate]
    if crate != "python":
        assert not {"pyo3", "numpy"} & set(manifest.get("dependencies", {}))
