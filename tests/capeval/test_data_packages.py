"""Data packages and default metrics: METEOR and SPICE with and without their data."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from capeval import Evaluator, Meteor, evaluate
from capeval.errors import CapevalWarning, ResourceError
from capeval.metrics import DEFAULT
from capeval.metrics.registry import DefaultMetrics
from capeval.report import System, create_score_table
from capeval.resources import installed_files, meteor, spice
from capeval.resources.compiled_files import CACHE
from tests.spice_model import NEEDS_MODEL
from tests.waiting import PATIENCE

PROJECT = Path(__file__).parents[2]
REFERENCES, CANDIDATES = {1: ["a dog runs", "the dog ran"], 2: ["two cats"]}, {1: "a dog", 2: "two cats"}
INSTALL = 'pip install "capeval[meteor]"'
NOTE = f"METEOR is left out, because its data is not installed; to add it, run {INSTALL}"
SCORE = """
import json, sys
from capeval import evaluate
from capeval.metrics.registry import get_metric
from capeval.resources import installed_files, meteor, spice
if sys.argv[2] == "alone":
    meteor.find_installed_folders = installed_files.find_installed_folders = list
metric = get_metric(sys.argv[1])
(resource,) = metric.resources
report = evaluate({1: ["a dog runs", "the dog ran"], 2: ["two cats"]}, {1: "a dog", 2: "two cats"}, [metric])
found = resource.found()
print(json.dumps([report.corpus[sys.argv[1]], found.fingerprint, found.source, str(found.path)]))
"""


@pytest.fixture
def without_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without METEOR's and SPICE's data."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    for module in (installed_files, meteor):
        monkeypatch.setattr(module, "find_installed_folders", list)
    meteor.load_tables.cache_clear()


def score_with_package(
    folder: Path, package: str, data: Path, metric: str, *, damage: bool = False
) -> list[object]:
    """Return the score, fingerprint, source and path in a process with a data package."""
    place = folder / package
    place.mkdir(parents=True)
    (place / "__init__.py").touch()
    content = data.read_bytes()
    (place / data.name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if damage else content)
    cache = folder / "cache"
    environment = {**os.environ, "PYTHONPATH": str(folder), CACHE: str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", SCORE, metric, "with" if damage else "alone"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if damage:
        assert f"{place / data.name} is damaged; to reinstall it, run `pip install --force-reinstall" in (
            done.stderr
        )
    else:
        assert done.stderr == ""
        # Nothing is written.
        assert not cache.exists()
        assert {path.name for path in place.iterdir()} <= {"__init__.py", "__pycache__", data.name}
    return list(json.loads(done.stdout))


def test_meteor_uses_the_tables_of_its_data_package(tmp_path: Path) -> None:
    built = meteor.ensure_tables()
    found = meteor.find_tables()
    assert found is not None
    score = evaluate(REFERENCES, CANDIDATES, ["METEOR"])["METEOR"]
    place = tmp_path / "intact" / "capeval_meteor_data" / built.name
    expected = [score, found.fingerprint, "capeval-meteor-data", str(place)]
    assert score_with_package(tmp_path / "intact", "capeval_meteor_data", built, "METEOR") == expected


def test_a_damaged_data_package_is_named_and_not_used(tmp_path: Path) -> None:
    built = meteor.ensure_tables()
    score = evaluate(REFERENCES, CANDIDATES, ["METEOR"])["METEOR"]
    found = score_with_package(tmp_path, "capeval_meteor_data", built, "METEOR", damage=True)
    assert found[0] == score
    assert found[2:] == ["pycocoevalcap", str(tmp_path / "cache" / built.name)]


@NEEDS_MODEL
def test_spice_uses_the_model_of_its_data_package(tmp_path: Path) -> None:
    from capeval.resources.spice import find_model

    built = find_model()
    assert built is not None
    score = evaluate(REFERENCES, CANDIDATES, ["SPICE"])["SPICE"]
    place = tmp_path / "capeval_spice_model" / built.path.name
    expected = [score, built.fingerprint, "capeval-spice-model", str(place)]
    assert score_with_package(tmp_path, "capeval_spice_model", built.path, "SPICE") == expected


@pytest.mark.usefixtures("without_data")
def test_default_metrics_without_data_are_left_out() -> None:
    assert DEFAULT.omitted == {"METEOR": INSTALL}
    assert DEFAULT.available == ("BLEU", "ROUGE-L", "CIDEr-D")
    with pytest.warns(CapevalWarning) as caught:
        report = evaluate(REFERENCES, CANDIDATES)
    assert [str(each.message) for each in caught] == [NOTE]
    names = ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr-D"]
    assert (list(report.corpus), report.omitted) == (names, {"METEOR": INSTALL})
    assert f"{NOTE}." in report.notes()
    assert f"\n {NOTE}" in repr(report)
    assert f"{NOTE}." in create_score_table([System(name="a", report=report)]).notes
    assert report.to_dict()["omitted"] == {"METEOR": INSTALL}
    others = [name for name in DEFAULT if name != "METEOR"]
    named = evaluate(REFERENCES, CANDIDATES, others)
    assert (named.corpus, named.omitted) == (report.corpus, {})
    assert "omitted" not in named.to_dict()


@pytest.mark.usefixtures("without_data")
def test_selected_metrics_are_never_left_out() -> None:
    for metrics in (list(DEFAULT), "BLEU,METEOR", [Meteor()]):
        with pytest.raises(ResourceError, match=r'METEOR requires .* pip install "capeval\[meteor\]"'):
            evaluate(REFERENCES, CANDIDATES, metrics)
    # An evaluation without any metric is no use.
    only = DefaultMetrics(("METEOR",))
    assert (only.available, only.omitted) == (("METEOR",), {})
    with pytest.raises(ResourceError, match=r"capeval\[meteor\]"):
        Evaluator(REFERENCES, only)


def test_nothing_is_left_out_with_all_data() -> None:
    report = evaluate(REFERENCES, CANDIDATES)
    assert "METEOR" in report.corpus
    assert (DEFAULT.omitted, DEFAULT.available, report.omitted) == ({}, tuple(DEFAULT), {})


@pytest.mark.parametrize(
    ("extra", "module", "pattern"),
    [
        ("meteor", meteor, r"meteor-(.+)-en-(\d+)\.tables"),
        ("spice", spice, r"spice-(.+)-en-(\d+)\.tables"),
    ],
)
def test_extras_require_the_packages_with_this_format(extra: str, module: ModuleType, pattern: str) -> None:
    name = re.fullmatch(pattern, module._NAME)
    assert name is not None
    version = f"{name[1]}.{name[2]}"
    recipe = PROJECT / "scripts" / "data_packages" / module._PACKAGE / "pyproject.toml"
    assert tomllib.loads(recipe.read_text(encoding="utf-8"))["project"]["version"] == version
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert extras["optional-dependencies"][extra] == [f"{module._PACKAGE}=={version}"]
