"""The wheel with SPICE's model is all that SPICE needs."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.spice_model import NEEDS_MODEL

ROOT = Path(__file__).parents[3]
SCORE = """
import capeval
from capeval.resources.compiled_files import cache_folder
assert not cache_folder().exists(), cache_folder()
print(capeval.evaluate({1: ["a red car"]}, {1: "a car"}, ["SPICE"]).corpus["SPICE"])
assert not cache_folder().exists()
"""


@NEEDS_MODEL
@pytest.mark.conformance
def test_the_wheel_alone_is_enough(tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / "scripts" / "spice_wheel.py"), "--output", str(tmp_path)]
    wheel = subprocess.run(program, capture_output=True, text=True, check=True).stdout.strip()
    with zipfile.ZipFile(wheel) as archive:
        names = [name.rpartition("/")[2] for name in archive.namelist()]
    assert {"COPYING", "COPYING.SPICE", "COPYING.WORDNET", "made_of.json", "__init__.py"} < {*names}
    installed, empty = tmp_path / "installed", tmp_path / "empty"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(installed), wheel], check=True)
    alone = {**os.environ, "PYTHONPATH": str(installed), "HOME": str(empty), "XDG_CACHE_HOME": str(empty)}
    command = [sys.executable, "-c", SCORE]
    done = subprocess.run(command, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(2 / 3)
