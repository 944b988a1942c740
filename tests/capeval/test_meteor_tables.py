"""METEOR's compiled tables: made once, sound or made again, and clear when they can't be made."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from capeval import Meteor, _native, align
from capeval.errors import CapevalWarning, OptionError, ResourceError
from capeval.resources import compiled_files, installed_files, meteor
from tests.waiting import PATIENCE

OPEN = "import sys, pathlib; from capeval.resources.meteor import ensure_tables; "
OPEN += "print(ensure_tables(pathlib.Path(sys.argv[1])))"


@pytest.fixture(scope="module")
def sound() -> bytes:
    return meteor.ensure_tables().read_bytes()


def place(folder: Path, tables: bytes) -> Path:
    path = folder / meteor.ensure_tables().name
    path.write_bytes(tables)
    return path


def test_damaged_tables_are_made_again_by_one_of_several_processes(tmp_path: Path, sound: bytes) -> None:
    middle = len(sound) // 2
    path = place(tmp_path, sound[:middle] + bytes([sound[middle] ^ 1]) + sound[middle + 1 :])
    # A killed process left it.
    (tmp_path / f".{path.name}.unfinished").write_bytes(sound[:10])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    answers, warned = zip(*(process.communicate(timeout=PATIENCE) for process in processes), strict=True)
    assert answers == (f"{path}\n",) * 3
    # Said by the one that makes them.
    assert "".join(warned).count(f"{path} is damaged and will be compiled again") == 1
    assert [process.returncode for process in processes] == [0] * 3
    assert path.read_bytes() == sound
    assert {file.suffix for file in tmp_path.iterdir()} == {".tables", ".checked", ".lock"}


def test_one_of_many_processes_makes_the_tables_in_a_new_home(tmp_path: Path, sound: bytes) -> None:
    score = """
from capeval import Meteor
from capeval.resources import meteor
made = []
meteor.ensure_tables(progress=made.append)
print(bool(made), Meteor().prepare({1: ["a dog runs"]}).score({1: "a dog"}).corpus["METEOR"])
"""
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("XDG_CACHE_HOME", compiled_files.CACHE)
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", score],
            env={**env, "HOME": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    answers = [process.communicate(timeout=PATIENCE) for process in processes]
    assert [said for _, said in answers] == [""] * 6
    makers, scores = zip(*(answer.split() for answer, _ in answers), strict=True)
    assert sorted(makers) == ["False"] * 5 + ["True"]
    assert len(set(scores)) == 1
    (path,) = tmp_path.rglob("*.tables")
    assert path.read_bytes() == sound


def test_tables_are_named_by_their_file(
    tmp_path: Path, sound: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place(tmp_path, sound)
    named = Meteor(tables=path)
    expected = Meteor().prepare({1: ["a dog runs"]}).score({1: "a dog ran"})
    # Nothing else is looked for.
    monkeypatch.setattr(meteor, "cache_folder", lambda: pytest.fail("looked in the cache"))
    meteor.load_tables.cache_clear()
    found = pickle.loads(pickle.dumps(named)).prepare({1: ["a dog runs"]}).score({1: "a dog ran"})
    assert found.corpus == expected.corpus
    assert found.signature == expected.signature
    assert align("a dog", "the dog", metric=named).score > 0
    assert (named.resources, named == Meteor()) == ((), True)
    damaged = tmp_path / "other.tables"
    for given in (damaged, tmp_path):
        with pytest.raises(
            ResourceError,
            match=r"METEOR's word tables in .* \(.*\); build them with `capeval resources meteor`",
        ):
            Meteor(tables=given).prepare({1: ["a dog"]})
    damaged.write_bytes(sound[:100])
    with pytest.raises(ResourceError, match=r"cannot open METEOR's word tables in .*other.tables"):
        Meteor(tables=damaged).prepare({1: ["a dog"]})
    with pytest.raises(OptionError, match=r"'tables' must be a Path, or None \(got 'a'\)"):
        Meteor(tables="a")  # type: ignore[arg-type]


def test_sound_tables_are_not_made_again(tmp_path: Path, sound: bytes) -> None:
    path = place(tmp_path, sound)
    made: list[int] = []
    assert meteor.ensure_tables(tmp_path, made.append) == path
    assert made == []
    # Its state is known from now on; a file replaced by another process is read in full again.
    os.utime(path, ns=(0, 0))
    assert meteor.ensure_tables(tmp_path, made.append) == path
    assert made == []


def test_no_folder_is_promised_without_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # No folder can be made in a file, also as root.
    (tmp_path / "file").touch()
    monkeypatch.setattr(meteor, "_find_packaged", lambda: None)
    monkeypatch.setattr(meteor, "cache_folder", lambda: tmp_path / "file" / "cache")
    monkeypatch.setattr(installed_files, "find_installed_folders", list)
    with pytest.raises(ResourceError, match=r"^METEOR requires word tables, which are not installed: pip"):
        meteor.ensure_tables()


@pytest.mark.parametrize("stale", [False, True])
def test_sound_tables_in_a_folder_that_is_read_only_will_do(
    stale: bool, tmp_path: Path, sound: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place(tmp_path, sound)
    if stale:
        path.with_suffix(".checked").write_text("{}")

    def refuse(path: Path) -> None:
        raise PermissionError(f"{path} is read-only")

    # Permissions would not stop root.
    monkeypatch.setattr(compiled_files, "atomic_write", refuse)
    assert meteor.ensure_tables(tmp_path, lambda _: pytest.fail("compiled again")) == path


@pytest.fixture
def no_cache(tmp_path: Path, sound: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder that can't be written to, also not by root: a folder in a file."""
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "cache"
    monkeypatch.setenv(compiled_files.CACHE, str(folder))
    monkeypatch.setattr(meteor, "_compile", lambda _: sound)
    compiled_files.temporary_folder.cache_clear()
    yield folder
    compiled_files.temporary_folder.cache_clear()


def test_where_the_cache_cannot_be_written_a_temporary_folder_will_do(no_cache: Path, sound: bytes) -> None:
    with pytest.warns(CapevalWarning) as warned:
        path = meteor.ensure_tables()
    assert path.parent == compiled_files.temporary_folder()
    assert path.read_bytes() == sound
    (warning,) = warned
    assert str(no_cache) in str(warning.message)
    assert str(path.parent) in str(warning.message)
    with pytest.raises(NotADirectoryError):
        meteor.ensure_tables(no_cache)


def test_the_temporary_folder_goes_with_its_process() -> None:
    script = "import os; from capeval.resources.compiled_files import temporary_folder as f; "
    script += "print(f(), flush=True)"
    # A fork that ends leaves it to the process that made it.
    script += "; os.fork() or exit(); os.wait(); print(f().is_dir())"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    folder, there = done.stdout.split()
    assert there == "True"
    assert not Path(folder).exists()


def test_the_variable_names_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(compiled_files.CACHE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiled_files.cache_folder() == tmp_path / "capeval"
    monkeypatch.setenv(compiled_files.CACHE, str(tmp_path / "other"))
    assert compiled_files.cache_folder() == tmp_path / "other"
    monkeypatch.setenv(compiled_files.CACHE, "")
    with pytest.raises(OptionError, match=r"CAPEVAL_CACHE must be a folder \(got an empty value\)"):
        compiled_files.cache_folder()


def test_the_metric_says_what_the_tables_take(sound: bytes) -> None:
    (resource,) = Meteor().resources
    assert len(sound) < resource.memory < 2 * len(sound)
    assert resource.prepare(lambda _: pytest.fail("compiled again")) == meteor.ensure_tables()


@pytest.mark.parametrize("kept", [0, 7, 40, 100_000])
def test_a_file_cut_short_is_no_table(kept: int, tmp_path: Path, sound: bytes) -> None:
    path = place(tmp_path, sound[:kept])
    with pytest.raises((ResourceError, ValueError, OSError)):
        _native.MeteorTables.open(path)


def test_progress_and_an_interrupt_leave_nothing_half_written(tmp_path: Path) -> None:
    heard: list[int] = []

    def interrupt(done: int) -> None:
        heard.append(done)
        if len(heard) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        meteor.ensure_tables(tmp_path, interrupt)
    assert heard == sorted(heard)
    assert 0 < heard[-1] <= meteor.PARAPHRASES
    assert {file.suffix for file in tmp_path.iterdir()} <= {".lock"}


def installed_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **replaced: bytes) -> None:
    """Replace some of METEOR's files with copies that have other contents."""

    def find(name: str, purpose: str, missing: str) -> Path:
        for part, content in replaced.items():
            if part in name:
                path = tmp_path / Path(name).name
                path.write_bytes(content)
                return path
        return installed_files.find_installed_file(name, purpose, missing)

    monkeypatch.setattr(meteor, "find_installed_file", find)


def test_damaged_paraphrases_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed_copy(tmp_path, monkeypatch, paraphrase=b"not gzip")
    with pytest.raises(
        ResourceError, match=r"paraphrase-en\.gz differs from the file of .*--force-reinstall pycocoevalcap"
    ):
        meteor.ensure_tables(tmp_path / "cache")


def test_a_damaged_jar_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed_copy(tmp_path, monkeypatch, jar=b"PK not a zip")
    with pytest.raises(ResourceError, match=r"meteor-1\.5\.jar differs from the file of pycocoevalcap 1\.2"):
        meteor.ensure_tables(tmp_path / "cache")


def test_a_jar_with_other_words_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.jar"
    with zipfile.ZipFile(other, "w") as archive:
        for name in (
            "synonym/english.synsets",
            "synonym/english.exceptions",
            "function/english.words",
            "nonbreaking/english.prefixes",
        ):
            archive.writestr(name, "other words\n")
    installed_copy(tmp_path, monkeypatch, jar=other.read_bytes())
    with pytest.raises(ResourceError, match=r"the CRC-32 of synonym/english\.synsets must be"):
        meteor.ensure_tables(tmp_path / "cache")


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ResourceError, match=r'word tables, which are not installed: pip install "capeval\['):
        meteor.ensure_tables(tmp_path)
