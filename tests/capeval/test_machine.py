"""Processors and memory, with and without the functions that only some operating systems have."""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from capeval._internal import machine

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

# Removes the modules and functions that Windows lacks, in this process and in the processes that it starts.
MASK = """
import os, signal, sys
sys.modules.update(dict.fromkeys(["fcntl", "grp", "pwd", "resource", "termios"]))
for name in ("fork", "sched_getaffinity", "process_cpu_count", "getuid", "statvfs", "killpg", "setsid"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGALRM", "pthread_sigmask"):
    delattr(signal, name)
"""
ROWS = {
    "references": [
        {"image_id": 1, "references": ["A dog runs on grass.", "The dog runs."]},
        {"image_id": 2, "references": ["Two cats sleep.", "Cats on a bed."]},
    ],
    "results": [{"image_id": 1, "caption": "A dog runs."}, {"image_id": 2, "caption": "Two cats on a bed."}],
}


def test_processors_of_this_process() -> None:
    assert machine.count_processors() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(("counted", "expected"), [(3, 3), (None, 1)])
def test_processors_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, counted: int | None, expected: int
) -> None:
    for name in ("process_cpu_count", "sched_getaffinity"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: counted)
    assert machine.count_processors() == expected


def test_processors_that_python_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "process_cpu_count", lambda: 5, raising=False)
    assert machine.count_processors() == 5


def test_peak_memory_on_each_system(monkeypatch: pytest.MonkeyPatch) -> None:
    on_linux = machine.measure_peak_memory()
    assert 10 < on_linux < 100_000
    monkeypatch.setattr(machine, "_STATUS", Path("missing"))
    # The peak of this process, and of its parent if that was larger.
    by_limits = machine.measure_peak_memory()
    assert by_limits == resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    monkeypatch.setattr(sys, "platform", "darwin")
    assert machine.measure_peak_memory() == pytest.approx(by_limits / 1024, rel=0.1)
    monkeypatch.setitem(sys.modules, "resource", None)
    assert math.isnan(machine.measure_peak_memory())


def test_a_status_without_the_peak_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "status").write_text("Name:\tpython\nVmRSS:\t1024 kB\n", encoding="ascii")
    monkeypatch.setattr(machine, "_STATUS", tmp_path / "status")
    assert math.isnan(machine.measure_peak_memory())


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "mask").mkdir()
    (tmp_path / "mask" / "sitecustomize.py").write_text(MASK, encoding="utf-8")
    for folder, rows in ROWS.items():
        (tmp_path / folder).mkdir()
        parquet.write_table(pa.Table.from_pylist(rows), tmp_path / folder / "part.parquet")
    return tmp_path


def run(files: Path, code: str, *, masked: bool) -> str:
    paths = [*([str(files / "mask")] if masked else []), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, *code.split()],
        cwd=files,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "CAPEVAL_CACHE": str(files / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_mask_hides_modules(files: Path) -> None:
    (files / "probe.py").write_text("import fcntl", encoding="utf-8")
    assert run(files, "probe.py", masked=False) == ""
    with pytest.raises(AssertionError, match="ModuleNotFoundError"):
        run(files, "probe.py", masked=True)


@pytest.mark.parametrize(
    "given", ["references/part.parquet results/part.parquet", "references results --processes 2"]
)
def test_scores_without_posix(files: Path, given: str) -> None:
    score = f"-m capeval score {given} -m BLEU -m CIDEr-D --format json"
    assert run(files, score, masked=True) == run(files, score, masked=False)
