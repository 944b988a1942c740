"""Every registered metric is documented, compared with something else, and open to type checkers."""

import ast
from pathlib import Path

import pytest

import capeval
from capeval.errors import OptionError
from capeval.metrics import CLASSES, DEFAULT, METRICS, Metric, register

PROJECT = Path(__file__).parents[2]
EVERY_CLASS = pytest.mark.parametrize("metric", CLASSES.values(), ids=list(CLASSES))


def test_metrics_are_registered() -> None:
    assert CLASSES, "no metric is registered"
    assert {type(make()) for make in METRICS.values()} == set(CLASSES.values())
    assert set(DEFAULT) <= set(METRICS)


@EVERY_CLASS
def test_every_metric_is_documented(metric: type[Metric]) -> None:
    text = (PROJECT / "docs" / "metrics" / f"{metric.docs_page}.md").read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert metric.family in text
    # The table of the metrics and the navigation list all pages.
    index = (PROJECT / "docs" / "metrics" / "index.md").read_text(encoding="utf-8")
    assert ".. metric-table::" in index
    assert ":glob:\n\n*\n" in index


@EVERY_CLASS
def test_every_metric_has_conformance_tests(metric: type[Metric]) -> None:
    tests = list((PROJECT / "tests" / "conformance" / metric.docs_page).glob("test_*.py"))
    assert tests
    assert all("def test_" in test.read_text(encoding="utf-8") for test in tests)


@EVERY_CLASS
def test_every_metric_is_a_name_of_the_package(metric: type[Metric]) -> None:
    assert metric.__name__ in capeval.__all__
    assert getattr(capeval, metric.__name__) is metric
    # Type checkers don't run code: they need an import in the package's `__init__.py`.
    face = ast.parse((PROJECT / "src" / "capeval" / "__init__.py").read_text(encoding="utf-8"))
    seen = {
        f"{node.module}.{alias.asname}"
        for node in ast.walk(face)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert f"{metric.__module__}.{metric.__name__}" in seen


@EVERY_CLASS
def test_every_resource_says_what_it_takes(metric: type[Metric]) -> None:
    for name, make in METRICS.items():
        if isinstance(made := make(), metric):
            for resource in made.resources:
                assert "" not in (resource.name, resource.install), name
                assert min(resource.steps, resource.memory, resource.seconds) > 0, name


def test_a_name_is_registered_once() -> None:
    for metric in CLASSES.values():
        with pytest.raises(OptionError, match="duplicate metric name"):
            register(metric)
