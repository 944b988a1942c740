"""Imports point down: layers of the Python packages, dependencies of crates, no cycles."""

import tomllib
from pathlib import Path

import pytest

from scripts.check_imports import is_upward, measure
from scripts.import_graph import list_imports, list_python_modules
from scripts.layers import CRATES, LAYERS, find_layer
from scripts.source_tree import list_packages

PROJECT = Path(__file__).parents[2]
REPORT = measure(PROJECT)
PACKAGES = {row["package"]: row for row in REPORT["packages"]}
# Modules of `metrics` that the metrics may import.
SHARED_METRICS = ("base", "cider_base", "options", "registry", "scene_graphs", "sentences", "spice_parsing")


def test_all_packages_and_crates_are_found() -> None:
    assert set(LAYERS) <= set(PACKAGES)
    assert {f"capeval-{crate}" for crate in CRATES} <= set(PACKAGES)
    assert {path.parent.name for path in PROJECT.glob("crates/*/Cargo.toml")} == set(CRATES)


@pytest.mark.parametrize("name", PACKAGES)
def test_every_module_has_a_layer_and_imports_point_down(name: str) -> None:
    assert PACKAGES[name]["without_layer"] == [], "give these modules a layer in scripts/layers.py"
    assert PACKAGES[name]["upward"] == []


@pytest.mark.parametrize("name", PACKAGES)
def test_there_is_no_import_cycle(name: str) -> None:
    assert PACKAGES[name]["part_cycles"] == []
    assert PACKAGES[name]["module_cycles"] == []
    assert REPORT["crate_cycles"] == []


def test_upward_imports_and_missing_layers_are_found() -> None:
    assert is_upward("capeval.metrics.bleu", "capeval.cli.app")
    assert is_upward("capeval.studies.human.compute", "capeval.studies.human.report")
    assert not is_upward("capeval.studies.human.command", "capeval.studies.human.report")
    assert is_upward("capeval.metrics.base", "capeval")
    assert is_upward("capeval.formats.base", "capeval_server.core.errors")
    assert find_layer("capeval.unknown") is None


def test_no_metric_imports_another() -> None:
    packages = [package for package in list_packages(PROJECT) if package.name == "capeval"]
    for one in list_imports(list_python_modules(packages)):
        if one.importer.startswith("capeval.metrics.") and one.imported.startswith("capeval.metrics."):
            assert one.imported.rpartition(".")[2] in SHARED_METRICS, f"{one.importer} imports {one.imported}"


@pytest.mark.parametrize("crate", CRATES)
def test_crates_depend_on_lower_crates_only(crate: str) -> None:
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
