"""Adding a metric is adding its module: everything else that lists metrics lists it then."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
REFERENCES = {"1": ["a dog runs on grass"], "2": ["the red bus"]}
RESULTS = [{"image_id": 1, "caption": "a dog sleeps"}, {"image_id": 2, "caption": "The red bus."}]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    # A wide terminal, and words that no other test has made.
    return {**os.environ, "TOY_WORDS": str(tmp_path / "toy-words.txt"), "COLUMNS": "1000"}


def python(
    code: str, environment: dict[str, str], *arguments: str | Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def capeval(environment: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    code = "import tests.guards.toy; from capeval.cli import main; main()"
    return python(code, environment, *arguments)


def test_the_registry_has_it(environment: dict[str, str]) -> None:
    code = (
        "import capeval, tests.guards.toy as toy; from capeval.metrics import CLASSES, METRICS\n"
        "assert CLASSES['Toy'] is capeval.Toy is toy.Toy\n"
        "assert METRICS['Toy']() == toy.Toy()\n"
        "assert {'Toy', 'ToyMean'} <= {*capeval.__all__}\n"
    )
    done = python(code, environment)
    assert done.returncode == 0, done.stderr


def test_the_command_line_lists_it(environment: dict[str, str]) -> None:
    listed = {each["name"]: each for each in json.loads(capeval(environment, "metrics", "-f", "json").stdout)}
    assert listed["Toy"] == {
        "name": "Toy",
        "scores": ["Toy"],
        "options": ["text=tokens"],
        "reads": "tokens",
        "needs": [{"name": "toy words", "install": "pip install toy"}],
    }
    assert "toy words (pip install toy)" in capeval(environment, "metrics").stdout


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    references, results = tmp_path / "references.json", tmp_path / "results.json"
    references.write_text(json.dumps(REFERENCES))
    results.write_text(json.dumps(RESULTS))
    return references, results


def test_the_command_line_scores_with_it(environment: dict[str, str], files: tuple[Path, Path]) -> None:
    done = capeval(environment, "score", *files, "-m", "toy,ToyMean,CIDEr-D", "-f", "json")
    assert done.returncode == 0, done.stderr
    assert Path(environment["TOY_WORDS"]).read_text().split() == ["a", "the", "on"]
    system = json.loads(done.stdout)
    assert system["metrics"]["Toy"] == (1 / 2 + 1) / 2
    assert system["metrics"]["ToyMean"] == (system["metrics"]["Toy"] + system["metrics"]["CIDEr-D"]) / 2
    assert list(system["signatures"]) == ["Toy", "ToyMean", "CIDEr-D"]


def test_the_command_line_says_how_to_score_without_it(
    environment: dict[str, str], files: tuple[Path, Path], tmp_path: Path
) -> None:
    environment["TOY_WORDS"] = str(tmp_path / "missing" / "toy-words.txt")
    done = capeval(environment, "score", *files, "-m", "Toy,BLEU,ToyMean")
    assert done.returncode == 2
    assert done.stderr.endswith(
        f"mkdir {tmp_path / 'missing'}; to score without Toy, ToyMean: --metrics BLEU\n"
    )


def test_captions_as_written_can_be_read(environment: dict[str, str]) -> None:
    code = (
        "from tests.guards.toy import Toy\n"
        "references, candidates = {1: ['The red bus']}, {1: 'the red bus.'}\n"
        "for text, score in (('tokens', 1), ('raw', 1 / 2)):\n"
        "    scores = Toy(text=text).prepare(references).score(candidates)\n"
        "    assert scores.corpus == {'Toy': score}, scores.corpus\n"
        "scores = Toy(text='raw').prepare({1: ['a bus']}).score({1: ['A bus', 'A Bus']})\n"
        "assert scores.per_image['Toy'].tolist() == [1 / 2, 0]\n"
        "assert scores.signature.tokenizer == 'none'\n"
    )
    done = python(code, environment)
    assert done.returncode == 0, done.stderr


def test_the_report_shows_how_it_explains_its_scores(
    environment: dict[str, str], files: tuple[Path, Path], tmp_path: Path
) -> None:
    report = tmp_path / "report.html"
    done = capeval(environment, "score", *files, "-m", "BLEU,Toy", "--report", report)
    assert done.returncode == 0, done.stderr
    page = report.read_text(encoding="utf-8")
    assert page.count('<svg class="scene-graph"') == 2 * len(RESULTS)
    assert "\N{CHECK MARK} bus</text>" in page
    done = capeval(environment, "score", *files, "-m", "BLEU,ToyMean", "--report", report)
    assert done.returncode == 0, done.stderr
    assert '<svg class="scene-graph"' not in report.read_text(encoding="utf-8")


def test_a_challenge_can_have_it(environment: dict[str, str], tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "import django; django.setup()\n"
        "import tests.guards.toy\n"
        "from capeval_server.challenges.definition import read_definition\n"
        "from capeval_server.examples import write_example\n"
        "from capeval_server.submissions.selectors.scores import score_names\n"
        "from capeval_server.submissions.scoring.pipeline import memory_limit\n"
        "from django.conf import settings\n"
        "path = write_example('small', Path(sys.argv[1]))\n"
        "path.write_text(path.read_text().replace('\"METEOR\"', '\"Toy\"'))\n"
        "definition = read_definition(path.name, path.read_bytes())\n"
        "assert 'Toy' in definition.splits[0].metrics\n"
        "assert 'Toy' in score_names(definition.splits[0])\n"
        "assert memory_limit(['BLEU']) == settings.MEMORY_BYTES\n"
        "words = tests.guards.toy.TOY_WORDS\n"
        "assert memory_limit(['BLEU', 'Toy']) == settings.MEMORY_BYTES + words.memory\n"
    )
    done = python(code, {**environment, "DJANGO_SETTINGS_MODULE": "tests.server.settings"}, tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_invariances_are_tried_on_it(environment: dict[str, str]) -> None:
    environment = {**environment, "PYTEST_ADDOPTS": ""}
    code = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    arguments = ("-q", "-p", "tests.guards.toy", "-p", "no:cacheprovider", "-k", "Toy")
    done = python(code, environment, *arguments, "tests/properties/test_invariances.py")
    assert done.returncode == 0, done.stdout
    # Two metrics, and each of the tests of every metric.
    assert done.stdout.count(" passed") == 1
    assert int(done.stdout.split(" passed")[0].split()[-1]) >= 18, done.stdout
