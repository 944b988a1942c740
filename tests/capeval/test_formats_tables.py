"""Captions in Parquet and Arrow files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from capeval import load_candidates, load_references
from capeval.errors import DependencyError, FormatError

pa = pytest.importorskip("pyarrow")


def save(columns: dict[str, Any], path: Path) -> Path:
    from pyarrow import feather, parquet

    table = pa.table(columns)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".feather":
        feather.write_feather(table, str(path))
    else:
        with pa.ipc.new_stream(str(path), table.schema) as stream:
            stream.write_table(table, max_chunksize=2)
    return path


KINDS = ["f.parquet", "f.feather", "f.arrows"]


@pytest.mark.parametrize("name", KINDS)
def test_columns_become_captions(tmp_path: Path, name: str) -> None:
    path = save(
        {"caption": ["a", "b", "c"], "image_id": [5, 3, 5], "score": [0.1, 0.2, 0.3]}, tmp_path / name
    )
    references = load_references(path)
    assert references.image_ids == (5, 3)
    assert references[5] == ["a", "c"]
    with pytest.raises(FormatError, match=r"row 2: duplicate image_id 5 \(first seen in row 0\)") as caught:
        load_candidates(path)
    assert caught.value.kind == "DuplicateImage"


@pytest.mark.parametrize("name", KINDS)
def test_lists_of_captions_and_text_ids(tmp_path: Path, name: str) -> None:
    ids = pa.array(["x", "y"]).dictionary_encode()
    path = save({"image_id": ids, "caption": [["a", "b"], ["c"]]}, tmp_path / name)
    assert dict(load_references(path)) == {"x": ["a", "b"], "y": ["c"]}
    with pytest.raises(FormatError, match="must have one caption"):
        load_candidates(path)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"image_id": [1], "words": ["a"]}, "cannot find the caption column (got 'image_id', 'words')"),
        ({"image_id": [1.0], "caption": ["a"]}, "column image_id must hold integers or text (got Float64)"),
        ({"image_id": [True], "caption": ["a"]}, "column image_id must hold integers or text (got Boolean)"),
        (
            {"image_id": [1], "caption": [2]},
            "column caption must hold text, or lists of one text (got Int64)",
        ),
        (
            {"image_id": [1, None], "caption": ["a", "b"]},
            "row 1: image_id must be an integer or a string (got null)",
        ),
        ({"image_id": [1, 2], "caption": ["a", None]}, "row 1: caption must be text (got null)"),
        (
            {"image_id": pa.array([], pa.int64()), "caption": pa.array([], pa.string())},
            "at least one caption",
        ),
        ({"image_id": pa.array([2**63], pa.uint64()), "caption": ["a"]}, "64 bits"),
    ],
)
def test_refused(tmp_path: Path, columns: dict[str, Any], words: str) -> None:
    path = save(columns, tmp_path / "f.parquet")
    with pytest.raises(FormatError) as caught:
        load_candidates(path)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("name", KINDS)
def test_rows_of_a_split(tmp_path: Path, name: str) -> None:
    columns = {
        "split": ["val", None, "test", "val"],
        "caption": ["a", None, "b", "c"],
        "image_id": [5, 3, 5, 7],
    }
    path = save(columns, tmp_path / name)
    assert dict(load_references(path, split="val")) == {5: ["a"], 7: ["c"]}
    assert dict(load_references(path, split=["val", "test"])) == {5: ["a", "b"], 7: ["c"]}
    with pytest.raises(FormatError, match="no row is of split 'train'"):
        load_references(path, split="train")


@pytest.mark.parametrize("name", KINDS[:2])
def test_a_damaged_file(tmp_path: Path, name: str) -> None:
    path = save({"image_id": [1], "caption": ["a"]}, tmp_path / name)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FormatError, match="cannot read the file as Parquet or Arrow"):
        load_candidates(path)


def test_the_limit_holds_for_unpacked_tables(tmp_path: Path) -> None:
    path = save({"image_id": list(range(1000)), "caption": ["a" * 1000] * 1000}, tmp_path / "f.parquet")
    assert path.stat().st_size < 100_000
    with pytest.raises(FormatError, match="at most 100,000 bytes"):
        load_candidates(path, limit=100_000)


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save({"image_id": [1], "caption": ["a"]}, tmp_path / "f.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DependencyError, match="pip install pyarrow"):
        load_candidates(path)
