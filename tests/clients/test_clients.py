"""Scripts as people write them for pycocoevalcap, run with it and with capeval in its place, and compared."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from capeval import Tokenizer, evaluate
from tests.waiting import PATIENCE

CLIENTS = sorted(
    path for path in Path(__file__).parent.glob("*.py") if not path.name.startswith(("data", "test"))
)
NEEDS_JAVA = pytest.mark.skipif(shutil.which("java") is None, reason="pycocoevalcap needs Java")

# With one import changed, and in a library that can't be edited.
WAYS = {
    "reference": "exec(compile(source, path, 'exec'))",
    "changed": "exec(compile(source.replace('pycocoevalcap', 'capeval.compat'), path, 'exec'))",
    "installed": "import capeval.compat; capeval.compat.install(); exec(compile(source, path, 'exec'))",
}


def got(client: Path, way: str, folder: Path) -> Any:
    folder.mkdir()
    code = f"import sys; path = sys.argv.pop(1); source = open(path).read(); {WAYS[way]}"
    done = subprocess.run(
        [sys.executable, "-c", code, client, folder],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    if way != "reference":
        assert "pycocoevalcap" not in done.stderr
    return json.loads((folder / "got.json").read_text())


def check_equal(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        check_equal(list(ours.values()), list(theirs.values()))
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            check_equal(one, other)
    elif isinstance(ours, float):
        assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-14)
    else:
        assert ours == theirs


def test_there_are_clients() -> None:
    assert len(CLIENTS) == 6


@NEEDS_JAVA
@pytest.mark.parametrize("client", CLIENTS, ids=lambda path: path.stem)
def test_a_client_gets_what_pycocoevalcap_gives(client: Path, tmp_path: Path) -> None:
    theirs = got(client, "reference", tmp_path / "reference")
    for way in ("changed", "installed"):
        check_equal(got(client, way, tmp_path / way), theirs)


def test_the_numbers_of_aac_metrics() -> None:
    # Recorded: aac-metrics 0.6.0 does not install any more, since a package that it needs was withdrawn.
    theirs = json.loads(Path(__file__).with_name("aac_metrics.json").read_text())
    report = evaluate(
        dict(enumerate(theirs["references"])),
        dict(enumerate(theirs["candidates"])),
        list(theirs["corpus"]),
        tokenizer=Tokenizer(kind="none"),
    )
    assert dict(report.corpus) == pytest.approx(theirs["corpus"], rel=1e-12)
    assert list(theirs["corpus"]) == ["CIDEr-D", "ROUGE-L", "BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4"]
    for name, scores in theirs["per_image"].items():
        assert report.per_image[name] == pytest.approx(scores, rel=1e-12, abs=1e-15)
