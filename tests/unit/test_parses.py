"""The store of parsed captions: whole, shared, bounded."""

from __future__ import annotations

import pickle
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from capeval.errors import OptionError, ResourceError
from capeval.resources.parses import ParseStore

MODEL = "a" * 64
PARSES = {"a dog runs": b"dog", "two cats": b"cats", "": b""}


@pytest.fixture
def store(tmp_path: Path) -> ParseStore:
    return ParseStore(tmp_path / "folder" / "parses.sqlite")


def test_what_was_written_is_read(store: ParseStore) -> None:
    assert store.read(MODEL, ["two cats"]) == {}
    assert not store.path.exists()
    store.write(MODEL, PARSES)
    assert store.read(MODEL, ["two cats", "a bird", "", "two cats"]) == {"two cats": b"cats", "": b""}
    assert len(store) == 3


def test_another_model_parses_anew(store: ParseStore) -> None:
    store.write(MODEL, PARSES)
    assert store.read("b" * 64, list(PARSES)) == {}
    store.write("b" * 64, {"two cats": b"other"})
    assert store.read(MODEL, ["two cats"]) == {"two cats": b"cats"}


def test_a_pickle_and_a_copy_serve_elsewhere(store: ParseStore, tmp_path: Path) -> None:
    store.write(MODEL, PARSES)
    assert pickle.loads(pickle.dumps(store)).read(MODEL, list(PARSES)) == PARSES
    moved = tmp_path / "moved"
    store.path.rename(moved)
    assert ParseStore(moved).read(MODEL, list(PARSES)) == PARSES
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["folder", "moved"]


def test_a_store_stays_within_its_limit(tmp_path: Path) -> None:
    store = ParseStore(tmp_path / "parses", limit=2**20)
    for batch in range(8):
        store.write(MODEL, {f"{batch} {number}": bytes(1000) for number in range(400)})
    assert store.path.stat().st_size < 1.5 * 2**20
    assert 500 < len(store) < 1050
    # What came last is there.
    newest = [f"7 {number}" for number in range(400)]
    assert set(store.read(MODEL, newest)) == set(newest)


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    store = ParseStore(tmp_path / "parses", limit=2**20)
    old = {f"old {number}": bytes(1000) for number in range(300)}
    store.write(MODEL, old)
    store.write(MODEL, {f"older {number}": bytes(1000) for number in range(300)})
    with sqlite3.connect(store.path) as database:
        database.execute("UPDATE parses SET used = 1")
    assert len(store.read(MODEL, list(old))) == 300
    store.write(MODEL, {f"new {number}": bytes(1000) for number in range(300)})
    assert set(store.read(MODEL, list(old))) == set(old)


def test_several_processes_write_at_once(store: ParseStore) -> None:
    code = (
        "import sys; from capeval.resources.parses import ParseStore\n"
        "store = ParseStore(sys.argv[1])\n"
        "for n in range(50):\n"
        "    store.write('m', {f'{sys.argv[2]} {n}': sys.argv[2].encode(), f'shared {n}': b's'})\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(store.path), str(number)]) for number in range(4)
    ]
    assert [writer.wait() for writer in writers] == [0] * 4
    assert len(store) == 250
    assert store.read("m", ["3 49", "shared 7"]) == {"3 49": b"3", "shared 7": b"s"}


@pytest.mark.parametrize("content", [b"no database" * 1000, b"SQLite format 3\0" + bytes(5000)])
def test_a_damaged_file_is_named(store: ParseStore, content: bytes) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(content)
    for use in (lambda: store.read(MODEL, ["a"]), lambda: store.write(MODEL, PARSES)):
        with pytest.raises(
            ResourceError, match=r"can't be used as a store of parses .*; delete it or name another"
        ):
            use()
    assert store.path.read_bytes() == content


def test_another_database_is_left_alone(store: ParseStore) -> None:
    store.path.parent.mkdir()
    with sqlite3.connect(store.path) as database:
        database.execute("CREATE TABLE other (x)")
    with pytest.raises(ResourceError, match="must be a store of parses"):
        store.write(MODEL, PARSES)


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ResourceError, match="can't be used as a store of parses"):
        ParseStore(tmp_path / "file" / "parses").write(MODEL, PARSES)


@pytest.mark.parametrize("limit", [0, -1, 10, True, "1", 2.0**30])
def test_a_limit_that_is_none_is_refused(tmp_path: Path, limit: int) -> None:
    with pytest.raises(OptionError, match="'limit' must be an integer of at least 1048576 "):
        ParseStore(tmp_path / "parses", limit=limit)
