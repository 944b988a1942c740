"""Public names of `capeval`, and the imports that they cause."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import capeval


def test_every_name_is_there() -> None:
    assert capeval.__all__ == sorted(capeval.__all__, key=lambda name: (name[0].islower(), name))
    for name in capeval.__all__:
        assert getattr(capeval, name) is not None
    assert set(capeval.__all__) <= set(dir(capeval))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'capeval' has no attribute 'Spyce'"):
        _ = capeval.Spyce  # type: ignore[attr-defined]


def _imported(code: str) -> set[str]:
    """The modules that a program imports."""
    told = f"import sys\ntry:\n {code}\nexcept SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, check=True, text=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "command", [["--help"], ["score", "--help"], ["study", "--help"], ["baselines", "--help"]]
)
def test_help_imports_nothing_that_scores(command: list[str]) -> None:
    imported = _imported(f"from capeval.cli.app import app; app({command})")
    assert "click" in imported
    assert not imported & {"numpy", "matplotlib", "rich", "pydantic", "django", "torch", "h5py"}


def test_scoring_imports_nothing_that_it_does_not_use() -> None:
    imported = _imported("from capeval import evaluate; evaluate({1: ['a dog']}, {1: 'a dog'}, ['BLEU'])")
    assert "numpy" in imported
    # Reports, stores of parses, compiling tables and running Maven need them.
    assert not imported & {"hashlib", "html", "sqlite3", "subprocess", "tempfile", "zipfile", "rich"}


@pytest.mark.parametrize("reader", ["load_references", "load_candidates"])
def test_reading_imports_nothing_that_scores(tmp_path: Path, reader: str) -> None:
    path = tmp_path / "captions.json"
    path.write_text('{"1": ["a dog"]}')
    reading = f"from capeval import evaluate, {reader}; captions = {reader}({str(path)!r})"
    assert "numpy" not in _imported(reading.replace("evaluate, ", ""))


def test_reading_starts_no_thread_and_keeps_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "references.json"
    captions = [{"image_id": image, "caption": "a dog runs " * 20} for image in range(20_000)]
    path.write_text(json.dumps({"annotations": captions}))
    loading = f"from capeval import load_references; load_references({str(path)!r})"
    reading = f"import os, threading; before = dict(os.environ); {loading}"
    _imported(f"{reading}; assert threading.active_count() == 1; assert os.environ == before")
