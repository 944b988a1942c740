"""Commands for metric resources and the parse cache."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from capeval.cli.toolkit.resource_setup import STORE
from capeval.metrics.spice import Spice
from capeval.resources.compiled_files import CACHE
from capeval.resources.parse_store import ParseStore
from capeval.resources.spice import ensure_model, find_model, load_model
from tests.capeval.cli.test_cli import output, refusal, run
from tests.spice_model import NEEDS_MODEL
from tests.waiting import PATIENCE, wait_until

REFERENCES = [
    {"image_id": 1, "caption": "A man rides a red bike."},
    {"image_id": 1, "caption": "a man on a bicycle"},
    {"image_id": 2, "caption": "two dogs"},
]
CANDIDATES = [{"image_id": 1, "caption": "A man with a bike."}, {"image_id": 2, "caption": "two dogs run"}]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "references.json").write_text(json.dumps(REFERENCES))
    (tmp_path / "a.json").write_text(json.dumps(CANDIDATES))
    (tmp_path / "b.json").write_text(json.dumps([{**one, "caption": "a dog"} for one in CANDIDATES]))
    (tmp_path / "captions.txt").write_text("a dog\n")
    (tmp_path / "ratings.csv").write_text("image_id,caption,rating\n1,a man,3\n2,a dog,2\n2,dogs,1\n")
    (tmp_path / "domains.json").write_text(json.dumps({"in-domain": [1], "out-domain": [2]}))
    return tmp_path


@pytest.fixture
def nothing_made(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty cache folder."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    del environment[STORE]
    return environment


def test_without_the_model_every_command_says_in_one_line_what_to_run(
    files: Path, nothing_made: dict[str, str]
) -> None:
    references, a, b = (files / f"{name}.json" for name in ("references", "a", "b"))
    commands: list[list[str | Path]] = [
        ["score", references, a, "-m", "SPICE"],
        ["score", references, a, "-m", "spider"],
        ["compare", references, a, b, "-m", "SPICE-Color"],
        ["study", "human", references, "-m", "SPICE"],
        ["study", "correlation", references, files / "ratings.csv", "-m", "SPICE"],
        ["study", "domains", references, a, "--domains", files / "domains.json", "-m", "SPICE"],
        ["scene-graph", files / "captions.txt"],
    ]
    for command in commands:
        assert (
            'SPICE requires a parser model, which is not installed: pip install "capeval[spice]"'
        ) in refusal(*command, env=nothing_made)
    message = refusal("score", references, a, "-m", "BLEU,SPICE", env=nothing_made)
    assert message.endswith("; to score without SPICE, use --metrics BLEU\n")


def test_what_is_missing_is_listed_with_what_to_run(nothing_made: dict[str, str]) -> None:
    meteor, spice, parses = json.loads(output("resources", "--format", "json", env=nothing_made))
    assert spice == {
        "name": "SPICE's model",
        "status": "not installed",
        "path": None,
        "bytes": None,
        "fingerprint": None,
        "source": None,
        "missing": 'pip install "capeval[spice]"',
    }
    assert (meteor["status"], meteor["missing"]) == ("not built", "built when a metric needs it")
    assert (parses["status"], parses["missing"], parses["bytes"]) == ("empty", "none yet", None)
    (switched_off,) = json.loads(output("resources", "-f", "json", env={**nothing_made, STORE: "off"}))[2:]
    found = [switched_off[name] for name in ("path", "status", "missing")]
    assert found == [None, "off", "switched off"]


def test_the_tables_of_meteor_are_made_before_they_are_needed(tmp_path: Path) -> None:
    environment = {**os.environ, CACHE: str(tmp_path / "cache")}
    said = output("resources", "meteor", env=environment)
    (path,) = (tmp_path / "cache").glob("meteor*.tables")
    row = json.loads(output("resources", "--format", "json", env=environment))[0]
    assert (row["path"], row["bytes"], row["missing"]) == (str(path), path.stat().st_size, None)
    assert row["source"] == "pycocoevalcap"
    assert said.startswith(f"{path}: ")
    assert said.endswith(f" MB, fingerprint {row['fingerprint']}\n")
    # Existing resources are listed and not created again.
    changed = path.stat().st_mtime_ns
    assert output("resources", "meteor", env=environment) == said
    assert path.stat().st_mtime_ns == changed
    # What can't be written to is an error here: nothing is scored that would need the tables.
    (tmp_path / "file").touch()
    nowhere = {**os.environ, CACHE: str(tmp_path / "file" / "cache")}
    assert "Not a directory" in refusal("resources", "meteor", env=nowhere)


def test_scoring_goes_on_where_the_cache_cannot_be_written(files: Path) -> None:
    environment = {**os.environ, CACHE: str(files / "a.json" / "cache")}
    done = run(
        "score", files / "references.json", files / "a.json", "-m", "METEOR", "-f", "csv", env=environment
    )
    assert (done.returncode, done.stdout) == (
        0,
        output("score", files / "references.json", files / "a.json", "-m", "METEOR", "-f", "csv").encode(),
    )
    (warning,) = done.stderr.decode().splitlines()
    assert warning.startswith(f"capeval: warning: cannot write {files / 'a.json' / 'cache'}")
    (folder,) = re.findall(r"word tables are in (\S+) until", warning)
    assert not Path(folder).exists()


def test_a_damaged_model_is_named(tmp_path: Path) -> None:
    environment = {**os.environ, CACHE: str(tmp_path)}
    path = tmp_path / "spice-1.0-en-1.tables"
    path.write_bytes(b"damaged")
    references = tmp_path / "references.json"
    references.write_text(json.dumps(REFERENCES))
    (tmp_path / "a.json").write_text(json.dumps(CANDIDATES))
    message = refusal("score", references, tmp_path / "a.json", "-m", "SPICE", env=environment)
    assert (
        message
        == f"capeval: error: {path} is damaged; to build SPICE's model again, run `capeval resources spice`\n"
    )


@NEEDS_MODEL
def test_what_is_there_is_listed_with_its_size_and_fingerprint() -> None:
    found = find_model()
    assert found is not None
    row = json.loads(output("resources", "--format", "json"))[1]
    assert (row["path"], row["bytes"]) == (str(found.path), found.path.stat().st_size)
    assert row["fingerprint"] == load_model().fingerprint == found.fingerprint
    table = output("resources")
    assert found.fingerprint in table
    place = str(found.path).replace(str(Path.home()), "~")
    assert f"\nSPICE's model: {place} (from {found.source})\n" in table
    listed = {row["Resource"]: row for row in csv.DictReader(output("resources", "-f", "csv").splitlines())}
    assert listed["SPICE's model"]["Path"] == str(found.path)
    said = output("resources", "spice")
    assert said.startswith(f"{found.path}: ")
    assert said.endswith(f" MB, fingerprint {found.fingerprint}\n")


def test_jars_that_are_not_there_are_refused_and_the_old_model_stays(tmp_path: Path) -> None:
    before = find_model()
    assert f"{tmp_path / 'none'} must be stanford-corenlp-3.6.0-models.jar, or a folder with it" in refusal(
        "resources", "spice", "--from", tmp_path / "none"
    )
    assert (
        f"{tmp_path} must be stanford-corenlp-3.6.0-models.jar, or a folder with it (got a folder without"
        in (refusal("resources", "spice", "--from", tmp_path))
    )
    (tmp_path / "wrong.jar").write_bytes(b"no jar")
    said = refusal("resources", "spice", "--from", tmp_path / "wrong.jar")
    # Without the other jars, those are reported as missing.
    assert (
        "cannot build SPICE's model: the models jar must be a zip file: " in said
        and f", {tmp_path / 'wrong.jar'}); delete or replace the wrong jar" in said
    ) or "SPICE's model requires stanford-corenlp-3.6.0.jar" in said
    assert find_model() == before


@NEEDS_MODEL
def test_the_model_is_the_same_wherever_it_is_made(tmp_path: Path, nothing_made: dict[str, str]) -> None:
    done = run("resources", "spice", env=nothing_made)
    if b"stanford-corenlp" in done.stderr:
        pytest.skip("LEFT OUT: CoreNLP's jars are not here, and Maven can't fetch them")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().endswith(f"fingerprint {load_model().fingerprint}\n")
    made = next((tmp_path / "cache").rglob("spice*.tables"))
    changed = made.stat().st_mtime_ns
    ensure_model(folder=made.parent)
    assert made.stat().st_mtime_ns == changed
    ensure_model(folder=made.parent, again=True)
    assert made.stat().st_mtime_ns > changed


def test_damaged_parses_are_reported(tmp_path: Path) -> None:
    store = ParseStore(tmp_path / "spice-parses.sqlite")
    parses = {"two dogs": b"payload of the first", "a man": b"payload of the second"}
    assert store.write("model", parses)
    kept = {**os.environ, STORE: str(tmp_path)}
    assert output("resources", "parses", env=kept).startswith(f"{store.path}: 2 parses, ")
    content = store.path.read_bytes()
    store.path.write_bytes(content.replace(b"payload of the first", b"Payload of the first"))
    assert refusal("resources", "parses", env=kept) == (
        f"capeval: error: 1 of 2 parses in {store.path} are damaged; delete the file with"
        " `capeval resources parses --clear`\n"
    )
    store.path.write_bytes(content[: len(content) // 2])
    assert f"cannot use {store.path} as a parse store" in refusal("resources", "parses", env=kept)
    (row,) = [
        row
        for row in json.loads(output("resources", "--format", "json", env=kept))
        if row["name"] == "parsed captions"
    ]
    assert (row["status"], row["missing"]) == ("damaged", "delete it with `capeval resources parses --clear`")
    assert output("resources", "parses", "--clear", env=kept) == f"{store.path}: deleted\n"
    assert output("resources", "parses", "--clear", env=kept) == f"{store.path}: no parses\n"


@NEEDS_MODEL
def test_parses_are_kept_where_the_variable_says(files: Path) -> None:
    kept = {**os.environ, STORE: str(files / "kept")}
    off = {**os.environ, STORE: "off"}
    score: list[str | Path] = ["score", files / "references.json", files / "a.json", "-m", "SPICE,SPIDEr"]
    assert output(*score, env=off) == output(*score, env=kept) == output(*score, env=kept)
    (path,) = (files / "kept").iterdir()
    # Each different caption once.
    assert len(ParseStore(path)) == 5
    assert output("resources", "parses", env=kept).startswith(f"{path}: 5 parses, ")
    moved = {**os.environ, STORE: str((files / "kept").rename(files / "moved"))}
    assert output("resources", "parses", "--clear", env=moved).endswith(": deleted\n")
    assert list((files / "moved").iterdir()) == []
    assert f"{STORE} must be a folder or 'off' (got an empty value)" in refusal(
        *score, env={**os.environ, STORE: ""}
    )
    assert f"set {STORE} to a folder" in refusal("resources", "parses", env=off)


@NEEDS_MODEL
def test_the_library_keeps_nothing_unless_it_is_asked_to(tmp_path: Path) -> None:
    references, candidates = {1: ["two dogs"]}, {1: "two dogs run"}
    assert Spice().store is None
    store = ParseStore(tmp_path / "parses")
    kept = Spice(store=store).prepare(references).score(candidates)
    assert len(store) == 2
    assert kept.corpus == Spice().prepare(references).score(candidates).corpus


@NEEDS_MODEL
def test_interrupted_parsing_goes_on_where_it_was(tmp_path: Path) -> None:
    """Of many small pieces of work, an interrupt costs the one that was being done."""
    captions = [
        f"a man number {number} rides a horse near the old house on the hill" for number in range(2000)
    ]
    (tmp_path / "captions.txt").write_text("\n".join(captions))
    code = (
        "from capeval.metrics import spice_parsing as spice; from capeval.cli import main\n"
        "spice._LARGEST_CHUNK = 50\n"
        "main()"
    )
    command = [sys.executable, "-c", code, "scene-graph", str(tmp_path / "captions.txt"), "-f", "jsonl"]
    env = {**os.environ, STORE: str(tmp_path / "kept"), "RAYON_NUM_THREADS": "1"}
    store = ParseStore(tmp_path / "kept" / "spice-parses.sqlite")
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(lambda: len(store) > 0, lambda: "nothing is kept")
        process.send_signal(signal.SIGINT)
        written, said = process.communicate()
        assert (process.returncode, written, said) == (130, b"", b"")
    kept = len(store)
    assert 0 < kept < len(captions)
    assert kept % 50 == 0
    parsed = (
        "from capeval.metrics import spice_parsing as spice; from capeval.cli import main\n"
        "import sys; spice.report_progress = lambda work, done, total: print(done, total, file=sys.stderr)\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", parsed, *command[3:]], env=env, capture_output=True, check=True, text=True
    )
    assert done.stderr.splitlines()[0] == f"0 {len(captions) - kept}"
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["caption"] for line in lines] == captions
    assert len(store) == len(captions)


@NEEDS_MODEL
def test_an_interrupt_does_not_wait_for_a_long_caption(tmp_path: Path) -> None:
    """All of the short ones are kept; the long one would take hours."""
    short = ["a man rides a horse", "a horse on a hill"]
    long = " . ".join([" ".join(f"word{number}x" for number in range(110))] * 2000)
    (tmp_path / "captions.txt").write_text("\n".join([*short, long]))
    code = (
        "from capeval.metrics import spice_parsing as spice; from capeval.cli import main\n"
        "import sys\n"
        "spice._LARGEST_CHUNK = 2\n"
        "spice.report_progress = lambda *how_far: print(how_far[1], flush=True)\n"
        "main()"
    )
    command = [sys.executable, "-c", code, "scene-graph", "--raw", str(tmp_path / "captions.txt")]
    env = {**os.environ, STORE: str(tmp_path / "kept")}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        # The short ones are parsed, and the long one is begun.
        assert [process.stdout.readline() for _ in range(2)] == [b"0\n", b"2\n"]
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, said) == (130, b"")
    assert len(ParseStore(tmp_path / "kept" / "spice-parses.sqlite")) == 2
