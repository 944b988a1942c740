"""Each distribution is installed alone, into an empty environment, and does its first task without Java."""

from __future__ import annotations

import json
import re
import shutil
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

from tests.journeys.installation import WHEELS, User, has_spice_wheel, install
from tests.ports import reserved_port
from tests.waiting import wait_until

REFERENCES = {
    1: ["A dog runs on the grass.", "The dog is running outside."],
    2: ["Two cats sleep on a bed.", "Cats on a bed."],
    3: ["A red bus drives down the street.", "A bus on a city street."],
}
RESULTS = {1: "A dog is running on grass.", 2: "Two cats on a bed.", 3: "A bus drives down a street."}
# Computed by pycocoevalcap 1.2 and its Java programs.
SCORES = {
    "BLEU-1": 0.9999999999411765,
    "BLEU-2": 0.845154254673475,
    "BLEU-3": 0.638037821418865,
    "BLEU-4": 0.42448497324160367,
    "METEOR": 0.4118293155825085,
    "ROUGE-L": 0.8084577114427861,
    "CIDEr-D": 3.879768665043188,
}
SPICE = 0.7746031746031745
INSTALL = 'pip install "capeval[meteor]"'
METRICS = ["BLEU", "METEOR", "ROUGE-L", "CIDEr-D"]
LEFT_OUT = f"METEOR is left out, because its data is not installed; to add it, run {INSTALL}"
# The first command of the README.
README = """\
System    BLEU-4   ROUGE-L   CIDEr-D
────────────────────────────────────
results    0.424     0.808     3.880

3 images, 2 references each (references.json).
COCO papers report CIDEr-D as CIDEr. Papers often print scores times 100.
"""
SEARCH = """
import numpy as np
from capeval_decoding.search import BeamSearch
from capeval_decoding.state_machines import Constraint, build_state_machine
words = ["@end", "a", "dog", "cat"]
table = np.log(np.array([[0.0, 1, 0, 0], [0, 0, 0.9, 0.1], [1, 0, 0, 0], [1, 0, 0, 0]]) + 1e-300)
machine = build_state_machine([Constraint(name="cat", phrases=((frozenset({3}),),))])
found = BeamSearch(start=0, end=0).search(lambda tokens, state: (table[tokens], state), None, machine)
print(*(" ".join(words[token] for token in found.get_best(at_least=k).tokens) for k in (0, 1)), sep=", ")
"""
BOXES = """\
ImageID,LabelName,Confidence,XMin,XMax,YMin,YMax
3f,/m/01yrx,1,0.1,0.4,0.1,0.4
"""


def _create_user(folder: Path, *requirements: str) -> User:
    """Return a user with two files of captions, and neither Java nor Maven."""
    annotations = [
        {"image_id": image, "caption": text} for image, texts in REFERENCES.items() for text in texts
    ]
    (folder / "references.json").write_text(json.dumps(annotations))
    results = [{"image_id": image, "caption": text} for image, text in RESULTS.items()]
    (folder / "results.json").write_text(json.dumps(results))
    user = User(environment=install(*requirements), folder=folder, cache=folder / "cache", path="")
    assert shutil.which("java", path=str(user.environment / "bin")) is None
    missing = "import importlib.util as i; print([i.find_spec(n) for n in ('pycocoevalcap', 'torch')])"
    assert user.python(missing) == "[None, None]\n"
    return user


def _score(user: User, arguments: str = "") -> tuple[dict[str, object], str]:
    """Return the JSON and the standard error of `capeval score`."""
    done = user.run(f"capeval score references.json results.json -f json {arguments}")
    return json.loads(done.stdout), done.stderr


def test_the_library_alone_scores(tmp_path: Path) -> None:
    user = _create_user(tmp_path, "capeval")
    metrics = "--metrics BLEU-4,ROUGE-L,CIDEr-D"
    done = user.run(f"capeval score references.json results.json {metrics}")
    assert (done.stdout, done.stderr) == (README, "")
    found, error = _score(user)
    assert error == f"capeval: warning: {LEFT_OUT}\n"
    assert found["metrics"] == {name: score for name, score in SCORES.items() if name != "METEOR"}
    assert found["omitted"] == {"METEOR": INSTALL}
    assert f"\n{LEFT_OUT}.\n" in user.read("capeval score references.json results.json")
    named = user.run("capeval score references.json results.json -m METEOR", status=2)
    expected = f"capeval: error: METEOR requires word tables, which are not installed: {INSTALL}\n"
    assert (named.stdout, named.stderr) == ("", expected)
    spice = user.run("capeval resources spice", status=2).stderr
    assert "METEOR's" not in spice.replace("meteor-1.5.jar", "")
    assert 'pip install "capeval[spice]"' in spice
    report = user.run("capeval score references.json results.json --report report.html", status=2)
    assert report.stderr.endswith('HTML reports need jinja2: pip install "capeval[report]"\n')
    server = user.run("capeval server start", status=2)
    assert server.stderr.endswith(' run pip install "capeval[server]"\n')


def test_data_packages_add_meteor_and_spice(tmp_path: Path) -> None:
    extras = "meteor,spice" if has_spice_wheel() else "meteor"
    user = _create_user(tmp_path, f"capeval[{extras}]")
    found, error = _score(user)
    assert (found["metrics"], error) == (SCORES, "")
    rows = json.loads(user.read("capeval resources -f json"))
    sources = [row["source"] for row in rows]
    assert sources == ["capeval-meteor-data", "capeval-spice-model" if has_spice_wheel() else None, None]
    if has_spice_wheel():
        found, error = _score(user, "-m SPICE")
        assert (found["metrics"], error) == ({"SPICE": SPICE}, "")
    # The packages contain the compiled data, so nothing is built.
    assert not list(tmp_path.rglob("*.tables"))


def test_data_packages_contain_their_licenses() -> None:
    licenses = {
        "capeval_meteor_data": {"COPYING.LESSER", "COPYING.WORDNET"},
        "capeval_spice_model": {"COPYING", "COPYING.SPICE", "COPYING.WORDNET"},
    }
    corenlp = {"stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar"}
    sources = {
        "capeval_meteor_data": {"meteor-1.5.jar", "paraphrase-en.gz"},
        "capeval_spice_model": {"meteor-1.5.jar", "spice-1.0.jar", "SceneGraphParser-1.0.jar", *corenlp},
    }
    wheels = sorted((WHEELS / "data").glob("*.whl"))
    assert len(wheels) == 1 + has_spice_wheel()
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            names = {name.rpartition("/")[2]: name for name in archive.namelist()}
            metadata = archive.read(names["METADATA"]).decode()
            made_of = json.loads(archive.read(names["made_of.json"]))
        found = {Path(name).name for name in names.values() if "/licenses/" in name}
        assert found == licenses[wheel.name.partition("-")[0]]
        expression = re.search(r"^License-Expression: (.+)$", metadata, re.MULTILINE)
        assert expression is not None
        assert len(expression[1].split(" AND ")) == len(found)
        assert {"capeval", "fingerprint", "sha256"} == made_of.keys()
        data = {name for name in made_of["sha256"] if name.endswith(".tables")}
        assert len(data) == 1
        assert made_of["sha256"].keys() - data == sources[wheel.name.partition("-")[0]]


def test_the_server_alone_hosts_a_challenge(tmp_path: Path) -> None:
    user = _create_user(tmp_path, "capeval-server")
    user.run("capeval server migrate")
    user.run("capeval server example small challenge")
    imported = user.run("capeval server import challenge/challenge.toml")
    again = f"{LEFT_OUT}, then import the challenge with metrics = {json.dumps(METRICS)}"
    assert imported.stderr.splitlines()[0] == f"capeval: warning: {again}"
    user.run("capeval server worker --until-empty")
    reserved, port = reserved_port()

    def read() -> str | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/small/open/", timeout=30) as page:
                return str(page.read().decode())
        except urllib.error.HTTPError:
            raise
        except (urllib.error.URLError, ConnectionError):
            # The server has not started yet.
            return None

    with reserved, user.start(f"capeval server start --port {port} --processes 1"):
        page = wait_until(read, lambda: "the leaderboard was not served")
    assert "Human" in page
    assert "CIDEr-D" in page
    assert "METEOR" not in page
    text = (tmp_path / "challenge" / "challenge.toml").read_text()
    named = text.replace('sort_by = "CIDEr-D"', 'metrics = ["METEOR"]\nsort_by = "METEOR"')
    (tmp_path / "challenge" / "challenge.toml").write_text(named.replace('slug = "small"', 'slug = "other"'))
    refused = user.run("capeval server import challenge/challenge.toml", status=2)
    needed = "metric 'METEOR' of split 'val' needs METEOR's word tables, not installed on this server"
    assert refused.stderr.endswith(f"{needed}: {INSTALL}\n")


def test_decoding_alone_searches_and_selects_constraints(tmp_path: Path) -> None:
    user = _create_user(tmp_path, "capeval-decoding")
    assert user.python(SEARCH) == "a dog, a cat\n"
    (tmp_path / "boxes.csv").write_text(BOXES)
    (tmp_path / "classes.csv").write_text("/m/01yrx,Cat\n")
    hierarchy = {"LabelName": "/m/0bl9f", "Subcategory": [{"LabelName": "/m/01yrx"}]}
    (tmp_path / "hierarchy.json").write_text(json.dumps(hierarchy))
    shown = user.read(
        "capeval baselines constraints boxes.csv --class-names classes.csv --hierarchy hierarchy.json"
    )
    assert "constraints: 1" in shown
    for command in ("train references.json captioner.pt", "caption features.h5"):
        refused = user.run(f"capeval baselines {command}", status=2)
        assert "Traceback" not in refused.stderr
