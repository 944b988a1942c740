"""The store of parsed captions: whole, shared, bounded."""

from __future__ import annotations

import pickle
import sqlite3
import subprocess
import sys
import warnings
from hashlib import blake2b
from pathlib import Path

import pytest

from capeval.errors import OptionError, ResourceError
from capeval.resources import parse_store
from capeval.resources.parse_store import ParseStore, ParseStoreWarning

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
    # The latest entries are kept.
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
        "import sys; from capeval.resources.parse_store import ParseStore\n"
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
def test_a_damaged_file_is_ignored_with_one_warning(store: ParseStore, content: bytes) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(content)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert store.read(MODEL, ["a"]) == {}
        assert not store.write(MODEL, PARSES)
    (warning,) = warned
    message = str(warning.message)
    assert message.startswith(f"the parse store {store.path} is not used (file is not a database); ")
    assert "Delete the file" in message
    assert "CAPEVAL_STORE" in message
    assert store.path.read_bytes() == content
    with pytest.raises(
        ResourceError, match=r"cannot use .* as a parse store .*; delete it or choose a different"
    ):
        len(store)
    store.clear()
    assert store.write(MODEL, PARSES)
    assert store.read(MODEL, list(PARSES)) == PARSES


def test_another_database_is_left_alone(store: ParseStore) -> None:
    store.path.parent.mkdir()
    with sqlite3.connect(store.path) as database:
        database.execute("CREATE TABLE other (x)")
    with pytest.warns(ParseStoreWarning, match=r"\(it is a different SQLite database\)"):
        assert not store.write(MODEL, PARSES)
    with sqlite3.connect(store.path) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("other",)]


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.warns(ParseStoreWarning, match="File exists|Not a directory"):
        assert not ParseStore(tmp_path / "file" / "parses").write(MODEL, PARSES)


def test_a_store_without_checksums_is_replaced(store: ParseStore) -> None:
    store.path.parent.mkdir()
    key = blake2b(b"two cats", key=MODEL.encode(), digest_size=16).digest()
    with sqlite3.connect(store.path) as database:
        database.execute(
            "CREATE TABLE parses (key BLOB PRIMARY KEY, tuples BLOB NOT NULL, used INTEGER NOT NULL)"
        )
        database.execute("INSERT INTO parses VALUES (?, ?, 1)", (key, b"damaged"))
        database.execute("PRAGMA application_id = 0x43457001")
        database.execute("PRAGMA user_version = 1")
    assert store.read(MODEL, ["two cats"]) == {}
    assert len(store) == 0
    assert store.write(MODEL, PARSES)
    assert store.read(MODEL, list(PARSES)) == PARSES


def test_a_store_of_a_later_version_is_left_alone(store: ParseStore) -> None:
    store.write(MODEL, PARSES)
    with sqlite3.connect(store.path) as database:
        database.execute("PRAGMA user_version = 3")
    before = store.path.read_bytes()
    with pytest.warns(ParseStoreWarning, match=r"its version 3 is of a later capeval; this one supports 2"):
        assert store.read(MODEL, ["two cats"]) == {}
    assert not store.write(MODEL, PARSES)
    assert store.path.read_bytes() == before


@pytest.mark.parametrize("column", ["tuples", "checksum", "key"])
def test_a_damaged_row_is_read_by_nobody_and_rewritten(store: ParseStore, column: str) -> None:
    store.write(MODEL, PARSES)
    with sqlite3.connect(store.path) as database:
        # As if the index led to the row of another caption, for the key.
        change = "(SELECT tuples FROM parses WHERE tuples = x'646f67')" if column == "key" else "x'00'"
        changed = "tuples" if column == "key" else column
        database.execute(f"UPDATE parses SET {changed} = {change} WHERE tuples = x'63617473'")
    message = rf"1 of 3 parses in {store.path} are damaged and will be computed again; if this recurs, delete"
    with pytest.warns(ParseStoreWarning, match=message):
        assert store.read(MODEL, list(PARSES)) == {"a dog runs": b"dog", "": b""}
    store.write(MODEL, {"two cats": b"cats"})
    assert store.read(MODEL, list(PARSES)) == PARSES
    assert len(store) == 3


def test_a_locked_store_is_waited_for_once(store: ParseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(MODEL, PARSES)
    monkeypatch.setattr(parse_store, "_PATIENCE_SECONDS", 0.5)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.warns(ParseStoreWarning, match=r"\(database is locked\)"):
        assert store.read(MODEL, list(PARSES)) == {}
    # It would fail the test by the time that it takes.
    monkeypatch.setattr(parse_store, "_PATIENCE_SECONDS", 10_000)
    assert not store.write(MODEL, PARSES)
    assert store.read(MODEL, list(PARSES)) == {}
    other.close()
    assert store.write(MODEL, {"a bird": b"bird"})
    assert len(store.read(MODEL, [*PARSES, "a bird"])) == 4


@pytest.mark.parametrize("limit", [0, -1, 10, True, "1", 2.0**30])
def test_a_limit_that_is_none_is_refused(tmp_path: Path, limit: int) -> None:
    with pytest.raises(OptionError, match="'limit' must be an integer of at least 1048576 "):
        ParseStore(tmp_path / "parses", limit=limit)
