"""What `import capeval` gives, and that it gives it late."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import capeval
from capeval.ahead import beside_references


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


def _reading(path: Path, reader: str = "load_references") -> str:
    """A program that reads captions, and has imported what it scores them with."""
    return f"from capeval import evaluate, {reader}; captions = {reader}({str(path)!r})"


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A file of captions that takes a while to read: as references or as results."""
    captions = [{"image_id": image, "caption": "a dog runs " * 20} for image in range(10_000)]
    path = tmp_path / "references.json"
    path.write_text(json.dumps({"annotations": captions}))
    return path


@pytest.mark.parametrize(
    ("reader", "modules"),
    [
        ("load_references", set(beside_references())),
        ("load_candidates", {"capeval.evaluation"}),
    ],
)
def test_what_scores_is_imported_beside_the_reading_of_a_large_file_alone(
    tmp_path: Path, large: Path, reader: str, modules: set[str]
) -> None:
    small = tmp_path / "small.json"
    small.write_text('{"1": ["a dog"]}')
    # Results tell nothing of scoring before numpy is there.
    first = "import numpy; " if reader == "load_candidates" else ""
    assert not _imported(f"{first}{_reading(small, reader)}") & modules
    # When the captions are read, the modules are there, and the thread that imported them is gone.
    alone = "import threading; assert threading.active_count() == 1"
    assert modules <= _imported(f"{first}{_reading(large, reader)}; {alone}")


def test_reading_results_alone_imports_nothing_that_scores(large: Path) -> None:
    assert not _imported(_reading(large, "load_candidates")) & {"numpy", "capeval.evaluation"}


@pytest.mark.parametrize("waits", [None, "26"])
def test_the_environment_stays_as_it_is(
    large: Path, waits: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if waits is not None:
        monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", waits)
    _imported(f"import os; before = dict(os.environ); {_reading(large)}; assert os.environ == before")


def test_references_are_read_where_numpy_is_broken(tmp_path: Path, large: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise RuntimeError('broken')")
    broken = f"sys.path.insert(0, {str(tmp_path)!r})"
    imported = _imported(f"{broken}; {_reading(large)}; assert len(captions) == 10_000")
    assert "numpy" not in imported


def test_references_are_read_where_no_thread_may_be_started(large: Path) -> None:
    refuse = "import _thread; _thread.start_new_thread = lambda *args: exec('raise RuntimeError')"
    imported = _imported(f"{refuse}; {_reading(large)}; assert len(captions) == 10_000")
    assert "numpy" not in imported
