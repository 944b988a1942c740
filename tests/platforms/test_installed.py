"""An installed capeval on any system and Python: digits, files, commands, threads and processes.

`make test-platform` runs these tests with a wheel and only pytest and pyarrow, so they import nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import capeval
from capeval.metrics import METRICS

NAMES = ("BLEU", "ROUGE-L", "ROUGE-2", "ROUGE-S", "CIDEr-D", "CIDEr-2015")
SUBJECTS = ("A small dog", "Two cats", "The old man", "A red bus", "Three kids", "A surfer's board")
PLACES = ("on the grass", "in a crowded café", "next to the 2nd street", "under a tree", "by the sea")
REFERENCES = {
    image: [f"{SUBJECTS[image % 6]} {PLACES[image % 5]}.", f"{SUBJECTS[image % 6]}, seen {PLACES[image % 4]}"]
    for image in range(30)
}
CANDIDATES = {
    image: f"{SUBJECTS[image % 6 if image % 3 else image % 5]} is {PLACES[image % 5]} at 10:30 a.m."
    for image in REFERENCES
}
# Computed by capeval 0.1.0 on Linux (glibc) for x86-64.
EXPECTED = {
    "BLEU-1": 0.553398058,
    "BLEU-2": 0.481736602,
    "BLEU-3": 0.392745393,
    "BLEU-4": 0.282425727,
    "ROUGE-L": 0.709010074,
    "ROUGE-2": 0.489434732,
    "ROUGE-S": 0.499848943,
    "CIDEr-D": 1.193781017,
    "CIDEr-2015": 0.141957967,
}
INTERVAL = (0.650270328, 0.747959439)
DECIMALS = 9


def run(*command: str, folder: Path) -> str:
    """Run the installed command in a folder and return its output."""
    program = Path(sysconfig.get_path("scripts")) / ("capeval.exe" if os.name == "nt" else "capeval")
    done = subprocess.run([program, *command], cwd=folder, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write(path: Path, captions: Mapping[int, list[str]]) -> None:
    """Write captions as a JSON file with the line ends of Windows."""
    rows = [{"image_id": image, "caption": each} for image, group in captions.items() for each in group]
    path.write_bytes(json.dumps(rows, ensure_ascii=False, indent=1).replace("\n", "\r\n").encode())


def test_scores_have_the_same_digits() -> None:
    report = capeval.evaluate(REFERENCES, CANDIDATES, NAMES)
    assert {name: round(score, DECIMALS) for name, score in report.corpus.items()} == EXPECTED


def test_tokens() -> None:
    (tokens,) = capeval.tokenize(["The café's 2nd dog\r\ncan't sit -- naïve."])
    assert tokens == ["the", "café", "'s", "2nd", "dog", "ca", "n't", "sit", "naïve"]


def test_intervals_have_the_same_digits() -> None:
    report = capeval.evaluate(REFERENCES, CANDIDATES, ["ROUGE-L"]).with_intervals(samples=200, seed=1)
    interval = report.intervals["ROUGE-L"]
    assert (round(interval.low, DECIMALS), round(interval.high, DECIMALS)) == INTERVAL


def test_threads_share_prepared_references() -> None:
    prepared = METRICS["CIDEr-D"]().prepare(REFERENCES)
    expected = prepared.score(CANDIDATES).per_image["CIDEr-D"].tolist()
    with ThreadPoolExecutor(8) as pool:
        for scores in pool.map(prepared.score, [CANDIDATES] * 64):
            assert scores.per_image["CIDEr-D"].tolist() == expected


def test_the_command_line_reads_files(tmp_path: Path) -> None:
    write(tmp_path / "references.json", REFERENCES)
    write(tmp_path / "results.json", {image: [each] for image, each in CANDIDATES.items()})
    names = ",".join(NAMES)
    text = run("score", "references.json", "results.json", "-m", names, "-f", "json", folder=tmp_path)
    expected = capeval.evaluate(REFERENCES, CANDIDATES, NAMES).corpus
    assert json.loads(text)["metrics"] == expected


def test_processes_score_folders_of_shards(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    for shard in range(3):
        part = [image for image in REFERENCES if image % 3 == shard]
        columns = {
            "image_id": part,
            "references": [REFERENCES[image] for image in part],
            "caption": [CANDIDATES[image] for image in part],
        }
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "shards" / f"{shard}.parquet")
    command = ["score", "shards", "shards", "-m", "CIDEr-D", "-f", "json", "--processes", "2"]
    command += ["--reference-caption-column", "references", "--caption-column", "caption"]
    report = json.loads(run(*command, folder=tmp_path))
    expected = capeval.evaluate(REFERENCES, CANDIDATES, ["CIDEr-D"]).corpus["CIDEr-D"]
    assert report["metrics"]["CIDEr-D"] == pytest.approx(expected, rel=1e-12)
