"""Scripts as people write them for forks of CIDEr, against the recorded results of the forks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clients.forks.files import write_files
from tests.clients.forks.record import CLIENTS, FOLDER
from tests.clients.test_clients import check_equal
from tests.waiting import PATIENCE

PROJECT = Path(__file__).parents[2]
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())["results"]
WAYS = ("changed", "installed")
NGRAMS = ("resources", "frequencies", "dataset_coco.json", "data/coco-train-idxs.p", "--tokenized")


def change_imports(source: str) -> str:
    """Return the script with its imports changed to capeval's."""
    for package, changed in (
        (r"from pycocoevalcap\.", "from capeval.compat."),
        (r"from (pyciderevalcap|evaluation)\b", r"from capeval.compat.\1"),
        (r"import evaluation\b", "from capeval.compat import evaluation"),
    ):
        source = re.sub(f"^{package}", changed, source, flags=re.MULTILINE)
    return source


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with document frequencies from the command, as the forks find them."""
    folder = tmp_path_factory.mktemp("forks")
    write_files(folder)
    (folder / "data").mkdir()
    command = [sys.executable, "-m", "capeval", *NGRAMS, "--split", "train,restval"]
    subprocess.run([*command, "--vocabulary", "cocotalk.json"], cwd=folder, check=True, timeout=PATIENCE)
    return folder


def got(client: str, way: str, folder: Path, tmp_path: Path) -> Any:
    source = (FOLDER / f"{client}.py").read_text()
    start = 'import capeval.compat\ncapeval.compat.install()\ncapeval.compat.install("evaluation")\n'
    (tmp_path / "client.py").write_text(start + source if way == "installed" else change_imports(source))
    done = subprocess.run(
        [sys.executable, tmp_path / "client.py", tmp_path],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return json.loads((tmp_path / "got.json").read_text())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_gets_the_results_of_the_fork(client: str, way: str, folder: Path, tmp_path: Path) -> None:
    check_equal(got(client, way, folder, tmp_path), EXPECTED[client])


def test_every_client_is_recorded() -> None:
    scripts = {path.stem for path in FOLDER.glob("*.py")} - {"files", "record"}
    assert set(CLIENTS) == set(EXPECTED) == scripts
