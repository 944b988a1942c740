"""`capeval score` of folders of shards."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.capeval.cli.test_cli import output, refusal, run
from tests.spice_model import NEEDS_MODEL

pa = pytest.importorskip("pyarrow")

CAPTIONS = ["A dog runs.", "Two cats sleep on a bed.", "A red bus drives.", "A man sits.", "A cat."]
COLUMNS = ("--reference-caption-column", "references", "--caption-column", "caption")


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    from pyarrow import parquet

    folder = tmp_path / "shards"
    folder.mkdir()
    for number, images in enumerate(([0, 1], [2], [3, 4])):
        rows = {
            "image_id": images,
            "references": [[CAPTIONS[image], "A dog."] for image in images],
            "caption": [CAPTIONS[image].lower() for image in images],
        }
        parquet.write_table(pa.table(rows), folder / f"part-{number}.parquet")
    return folder


def test_a_folder_scores_as_a_file_does(shards: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    whole = tmp_path / "whole.parquet"
    tables = [parquet.read_table(path) for path in sorted(shards.iterdir())]
    parquet.write_table(pa.concat_tables(tables), whole)
    options = (*COLUMNS, "-m", "BLEU,CIDEr-D", "--format", "json")
    ours = json.loads(output("score", str(shards), str(shards), *options))
    theirs = json.loads(output("score", str(whole), str(whole), *options, "--context", "caption"))
    assert ours["images"] == theirs["images"] == 5
    assert ours["metrics"] == pytest.approx(theirs["metrics"], rel=1e-12)
    assert ours["signatures"]["BLEU"] == theirs["signatures"]["BLEU"]
    table = output("score", str(shards), str(shards), *COLUMNS, "-m", "BLEU", "--processes", "1")
    assert "5 images, 2 references each (shards)." in table


def test_bad_shards_are_named(shards: Path) -> None:
    bad = shards / "part-1.parquet"
    bad.write_bytes(bad.read_bytes()[:-9])
    command = ("score", str(shards), str(shards), *COLUMNS, "-m", "BLEU", "--processes", "1")
    assert f"{bad}: cannot read the file as Parquet or Arrow" in refusal(*command)
    done = run(*command, "--skip-bad-shards")
    assert done.returncode == 0
    assert f"capeval: warning: shard skipped: {bad}: cannot read the file" in done.stderr.decode()
    assert "4 images" in done.stdout.decode()
    assert "1 shard was skipped; see the messages on standard error." in done.stdout.decode()


def test_options_that_are_not_for_folders_or_only_for_them(shards: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('[{"image_id": 1, "caption": "a dog"}]')
    assert "must all be files, or all be folders (got the folder" in refusal("score", str(shards), str(file))
    both = ("score", str(shards), str(shards), *COLUMNS)
    for option in ("--bootstrap", "--per-image"):
        assert f"{option} requires files (got folders of shards)" in refusal(*both, option)
    assert "require folders of shards" in refusal("score", str(file), str(file), "--skip-bad-shards")
    # If no reference column had a standard name, results would be scored against themselves.
    unnamed = refusal("score", str(shards), str(shards), *COLUMNS[2:])
    assert f"{shards} contains references and results; set the column of references with" in unnamed
    assert "must have files with a suffix such as" in refusal("score", str(tmp_path), str(tmp_path), *COLUMNS)


@NEEDS_MODEL
def test_processes_warn_of_a_damaged_store_once(shards: Path, tmp_path: Path) -> None:
    store = tmp_path / "kept" / "spice-parses.sqlite"
    store.parent.mkdir()
    store.write_bytes(b"no database" * 1000)
    command = ("score", str(shards), str(shards), *COLUMNS, "-m", "SPICE", "--processes", "2")
    done = run(*command, env={**os.environ, "CAPEVAL_STORE": str(store.parent)})
    assert done.returncode == 0
    assert done.stdout.decode() == output(*command)
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"capeval: warning: the parse store {store} is not used (file is not a database)")
