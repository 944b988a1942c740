"""SPICE with a store of parses that is damaged or can't be used: the same scores, to the last bit."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from capeval import Spice, evaluate
from capeval.resources import parse_store
from capeval.resources.parse_store import ParseStore, ParseStoreWarning
from tests.spice_model import NEEDS_MODEL

pytestmark = NEEDS_MODEL

WORDS = (
    "a dog",
    "red cats",
    "two men",
    "a woman in a hat",
    "the brown horse",
    "a bus",
    "its boat",
    "three birds",
)
VERBS = ("near", "on", "rides", "sits next to", "looks at", "of")


def made(images: int) -> tuple[dict[int, list[str]], dict[int, str]]:
    """References and candidates of words drawn at random."""
    random = Random(1)

    def caption() -> str:
        one, other, third = random.sample(WORDS, 3)
        return f"{one} {random.choice(VERBS)} {other} {random.choice(VERBS)} {third}"

    return {k: [caption(), caption()] for k in range(images)}, {k: caption() for k in range(images)}


REFERENCES, CANDIDATES = made(40)


def scores(store: ParseStore | None) -> list[float]:
    """All that scores are computed from, and the score of all images."""
    report = evaluate(REFERENCES, CANDIDATES, [Spice(store=store)])
    ((_, found),) = report.scores
    return [*found.statistics.reshape(-1).tolist(), report.corpus["SPICE"]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> ParseStore:
    store = ParseStore(tmp_path_factory.mktemp("filled") / "parses.sqlite")
    scores(store)
    return store


@pytest.fixture(scope="module")
def expected() -> list[float]:
    return scores(None)


@pytest.fixture(autouse=True)
def forgotten() -> None:
    """Warnings of one case are not those of another with the same file."""
    for paths in (parse_store._UNUSABLE, parse_store._DAMAGED, parse_store._LOCKED):
        paths.clear()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB in memory, which only root can make."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "capeval-tests", str(folder)]
    try:
        problem = subprocess.run(mount, capture_output=True, text=True, check=False).stderr.strip()
    except FileNotFoundError:
        problem = "no mount here"
    if problem:
        pytest.skip(f"LEFT OUT: a small disk can't be mounted here ({problem})")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_no_flipped_bit_changes_a_score(filled: ParseStore, expected: list[float], tmp_path: Path) -> None:
    content = filled.path.read_bytes()
    store = ParseStore(tmp_path / "parses.sqlite")
    used = [bit for bit in range(8 * len(content)) if content[bit // 8]]
    # The header, then keys, payloads, checksums and pages of the index.
    random = Random(7)
    bits = [*range(0, 800, 17), *random.sample(used, 100), *random.sample(range(8 * len(content)), 20)]
    warned = 0
    for bit in bits:
        store.path.write_bytes(flipped(content, bit))
        forget = (parse_store._UNUSABLE, parse_store._DAMAGED)
        for paths in forget:
            paths.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert scores(store) == expected, bit
        assert {warning.category for warning in caught} <= {ParseStoreWarning}, bit
        assert len(caught) <= len(forget), bit
        warned += bool(caught)
    # The cases are not all of bits that nobody reads.
    assert warned > 30


def test_each_damaged_payload_is_found(filled: ParseStore, expected: list[float], tmp_path: Path) -> None:
    content = filled.path.read_bytes()
    store = ParseStore(tmp_path / "parses.sqlite")
    with sqlite3.connect(filled.path) as database:
        rows = database.execute("SELECT tuples FROM parses").fetchall()
    for (payload,) in rows[::5]:
        place = content.index(payload)
        store.path.write_bytes(flipped(content, 8 * place + 8 * len(payload) // 2))
        parse_store._DAMAGED.clear()
        assert store.count_damaged() == 1
        with pytest.warns(
            ParseStoreWarning, match=r"^1 of \d+ parses in .* are damaged and will be computed again"
        ):
            assert scores(store) == expected
        # It was mended.
        assert scores(store) == expected
        assert store.count_damaged() == 0


@pytest.mark.parametrize("part", [0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_a_truncated_store_is_ignored(
    filled: ParseStore, expected: list[float], tmp_path: Path, part: float
) -> None:
    content = filled.path.read_bytes()
    store = ParseStore(tmp_path / "parses.sqlite")
    store.path.write_bytes(content[: int(part * len(content))])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert scores(store) == expected
    # An empty file is a store that is not made yet, and pages that are cut off may have been free.
    assert len(caught) == 1 or (part in (0, 0.999) and not caught)


def test_a_store_that_can_only_be_read_serves(filled: ParseStore, expected: list[float], disk: Path) -> None:
    store = ParseStore(disk / "parses.sqlite")
    store.path.write_bytes(filled.path.read_bytes())
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert scores(store) == expected
    # What it lacks can't be added.
    with pytest.warns(ParseStoreWarning, match=r"\(attempt to write a readonly database\)") as warned:
        evaluate({1: ["a new dog"]}, {1: "a new cat"}, [Spice(store=store)])
    assert len(warned) == 1


def test_a_folder_that_can_only_be_read(expected: list[float], disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for place, reason in (
        (disk / "parses.sqlite", "unable to open database file"),
        (disk / "new" / "parses.sqlite", "Read-only file system"),
    ):
        with pytest.warns(ParseStoreWarning, match=reason) as warned:
            assert scores(ParseStore(place)) == expected
        assert len(warned) == 1


def test_a_folder_in_which_nothing_can_be_made(expected: list[float]) -> None:
    """The same without mounting a disk."""
    with pytest.warns(
        ParseStoreWarning, match=r"/proc/self/parses.sqlite is not used \(unable to open .*longer\. Set "
    ):
        assert scores(ParseStore("/proc/self/parses.sqlite")) == expected


def test_a_full_disk(expected: list[float], disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    store = ParseStore(disk / "parses.sqlite")
    with pytest.warns(ParseStoreWarning, match=r"disk is full|disk I/O error") as warned:
        assert scores(store) == expected
    assert len(warned) == 1
    (disk / "filler").unlink()
    assert scores(store) == expected
    assert len(store) > 100


def test_files_of_limited_size(expected: list[float], tmp_path: Path) -> None:
    """A full disk, without mounting one."""
    path = tmp_path / "parses.sqlite"
    code = (
        "import json, sys, resource; sys.path.insert(0, '.')\n"
        "from tests.capeval.test_spice_store import ParseStore, scores\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))\n"
        "print(json.dumps(scores(ParseStore(sys.argv[1]))))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == expected
    assert done.stderr.count("is not used") == 1


def test_the_command_line_warns_in_one_line(filled: ParseStore, tmp_path: Path) -> None:
    (tmp_path / "references.json").write_text(
        json.dumps([{"image_id": k, "caption": text} for k, texts in REFERENCES.items() for text in texts])
    )
    (tmp_path / "results.json").write_text(
        json.dumps([{"image_id": k, "caption": text} for k, text in CANDIDATES.items()])
    )
    store = tmp_path / "kept" / "spice-parses.sqlite"
    store.parent.mkdir()
    store.write_bytes(filled.path.read_bytes()[:3000])
    files = (tmp_path / "references.json", tmp_path / "results.json")
    command = [sys.executable, "-m", "capeval", "score", *map(str, files), "-m", "SPICE,SPIDEr"]
    off, damaged = (
        subprocess.run(
            command, env={**os.environ, "CAPEVAL_STORE": where}, capture_output=True, text=True, check=True
        )
        for where in ("off", str(store.parent))
    )
    assert damaged.stdout == off.stdout
    (line,) = damaged.stderr.splitlines()
    assert line.startswith(f"capeval: warning: the parse store {store} is not used (")
    assert "Delete the file" in line
