"""Contract of metrics: a registered metric, also one of another distribution, is offered everywhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

import capeval
from capeval.cli.app import app
from capeval.distributed import Sums
from capeval.errors import OptionError
from capeval.metrics import CLASSES, DEFAULT, METRICS, Metric
from capeval.metrics.options import list_metric_options
from capeval.metrics.registry import get_metric, normalize_name
from capeval.tokenizers import TokenizedReferences
from capeval_server.challenges.models import Challenge
from tests.plugins import TOY_METRICS, install_toy, plugins_in, write_distribution
from tests.server.kit import Someone
from tests.spice_model import METRIC_NAMES

PROJECT = Path(__file__).parents[2]
SENTENCES = (
    "two small red dogs run fast on the green grass",
    "three large black cats sleep on a small white bed",
    "two small blue birds sit on a large brown branch",
    "four large yellow buses stand on the gray street",
)
REFERENCES = {image: [text, f"a photo of {text}"] for image, text in enumerate(SENTENCES)}
GOOD = dict(enumerate(SENTENCES))
BAD = {image: f"somebody eats pizza number {image} inside" for image in GOOD}
SUBSETS = {"first": [0, 1], "last": [2, 3]}
Run = Callable[..., str]


@pytest.fixture(scope="module", autouse=True)
def toys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The distribution of the toys, installed."""
    folder = install_toy(tmp_path_factory.mktemp("toys"))
    page = folder / "docs" / "metrics" / "toy.md"
    page.parent.mkdir(parents=True)
    page.write_text("# Toys\n\nToy, ToyMean, ToyErrors\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOY_WORDS", str(folder / "toy-words.txt"))
        with plugins_in(folder, patch, ["capeval_toy"]):
            yield folder


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Run a command in a folder with the captions and return its output."""
    contents = {"references": REFERENCES, "good": GOOD, "bad": BAD, "subsets": SUBSETS}
    for name, content in contents.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> str:
        app.main(args=list(arguments), standalone_mode=False)
        return capfdbinary.readouterr().out.decode()

    return command


@pytest.mark.django_db
@pytest.mark.parametrize("name", [*METRIC_NAMES, *TOY_METRICS])
def test_a_metric_is_offered_everywhere(name: str, run: Run, toys: Path) -> None:
    metric = get_metric(name.upper())
    assert metric == METRICS[name]()
    assert getattr(capeval, type(metric).__name__) is CLASSES[type(metric).__name__] is type(metric)
    check_options(name, metric)
    check_scores(name, metric)
    check_commands(name, metric, run)
    check_server(name, metric)
    pages = [folder / "docs" / "metrics" / f"{metric.docs_page}.md" for folder in (PROJECT, toys)]
    assert any(metric.family in page.read_text(encoding="utf-8") for page in pages if page.exists())


@pytest.mark.django_db
@pytest.mark.parametrize("name", [name for name, make in METRICS.items() if make().missing_options])
def test_a_metric_that_needs_files_is_offered_to_their_owner(name: str, run: Run) -> None:
    metric = get_metric(name)
    options = list_metric_options(type(metric))
    assert all(option.help for option in options.values())
    assert all(options[each].type == "file" for each in metric.missing_options)
    assert f"{name}({metric.missing_options[0]}=...)" in run("metrics", name)
    assert name in run("metrics")
    needs = f"{metric.family} needs the option"
    for use in (metric.prepare, lambda captions: capeval.evaluate(captions, GOOD, [name])):
        with pytest.raises(OptionError, match=needs):
            use(REFERENCES)
    page = Someone("staff", is_staff=True).see("/new/form/")
    assert f'value="{name}"' not in page
    assert not any(f'value="{score}"' in page for score in metric.names)


def check_options(name: str, metric: Metric) -> None:
    """Check that options are described, and read as text as signatures write them."""
    options = list_metric_options(type(metric))
    for option in options.values():
        text = f"{name}({option.name}={option.show(getattr(metric, option.name))})"
        assert option.help, f"{text}: no description in the docstring of {type(metric).__name__}"
        assert normalize_name(text) == text
        assert get_metric(text) == METRICS[text]() == metric
    signed = {each.partition("=")[0] for each in metric.options()}
    assert signed <= options.keys(), "an option of the signature has no form as text"
    with pytest.raises(OptionError, match=f"{re.escape(metric.family)} has no option"):
        get_metric(f"{name}(no_option=1)")
    assert f"{name}(no_option=1)" not in METRICS


def check_scores(name: str, metric: Metric) -> None:
    """Check the Python API: scores, signatures, subsets, tests, and sums of parts."""
    good, bad = (capeval.evaluate(REFERENCES, each, [name], subsets=SUBSETS) for each in (GOOD, BAD))
    assert tuple(good.corpus) == tuple(good.per_image) == metric.names
    assert {str(each).split("|")[0] for each in good.signatures.values()} == {metric.family}
    plugin = None if type(metric).__module__.startswith("capeval.") else "capeval-toy-1.0"
    assert {each.plugin for each in good.signatures.values()} == {plugin}
    compared = good.compare(bad, samples=20)
    for score in metric.names:
        assert len(good.per_image[score]) == len(GOOD)
        assert compared[score].better in ("a", None), score
        assert good.lower_is_better == (set() if metric.higher_is_better else {*metric.names})
        assert good.without_direction == (set() if metric.has_direction else {*metric.names})
    assert any(each.better == "a" for each in compared.values()) == metric.has_direction
    intervals = good.with_intervals(samples=20).intervals
    assert all(each.low <= good.corpus[score] <= each.high for score, each in intervals.items())
    # With the document frequencies of all images, sums of parts are those of the whole.
    given = metric.with_corpus(TokenizedReferences(capeval.References(REFERENCES)), "all")
    whole = capeval.evaluate(REFERENCES, BAD, [given])
    first, last = (
        Sums.of(capeval.evaluate({i: REFERENCES[i] for i in part}, {i: BAD[i] for i in part}, [given]))
        for part in SUBSETS.values()
    )
    total = first + Sums.from_arrow(last.to_arrow())
    assert total.corpus == pytest.approx(dict(whole.corpus), nan_ok=True)


def check_commands(name: str, metric: Metric, run: Run) -> None:
    """Check the command line: lists, formats, subsets, intervals, the report and the test."""
    (listed,) = (each for each in json.loads(run("metrics", "-f", "json")) if each["name"] == name)
    assert (listed["scores"], listed["options"]) == ([*metric.names], [*metric.options()])
    score = ("score", "references.json", "good.json", "bad.json", "--metrics", name)
    assert run(*score).splitlines()[0].split() == ["System", *metric.names]
    more = ("--subset", "subsets.json", "--bootstrap", "--samples", "20")
    found = json.loads(run(*score, "-f", "json", *more))
    assert [each["metrics"].keys() for each in found] == [{*metric.names}] * 2
    assert found[0].keys() >= {"subsets", "intervals", "signatures"}
    assert run(*score, "-f", "csv").splitlines()[0].count(",") == len(metric.names)
    pairs = [tuple(each["metrics"][one] for each in found) for one in metric.names]
    better = [(a > b) == metric.higher_is_better for a, b in pairs if None not in (a, b) and a != b]
    assert all(better) or not metric.has_direction
    for form, bold in (("markdown", "**"), ("latex", r"\textbf")):
        shown = run(*score, "-f", form)
        row = next(line for line in shown.splitlines() if "good" in line.split())
        assert row.count(bold) >= len(better) > 0 if metric.has_direction else bold not in shown
    run(*score, "--report", "report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    assert all(f">{one}<" in page for one in metric.names)
    explained = metric.explain(SENTENCES[0], REFERENCES[0])
    assert ('<svg class="scene-graph"' in page) == (explained is not None)
    compared = run("compare", "references.json", "bad.json", "good.json", "-m", name, "--samples", "20")
    assert [line.split()[0] for line in compared.splitlines()[2 : 2 + len(metric.names)]] == [*metric.names]


def check_server(name: str, metric: Metric) -> None:
    """Check the form for new challenges, with its options, and the challenge that it makes."""
    staff = Someone("staff", is_staff=True)
    page = staff.see("/new/form/")
    offered, _, more = page.partition("More metrics")
    box = f'value="{name}" id="id_metrics-{name}"'
    assert box in (offered if name in metric.featured or name in DEFAULT else more)
    assert all(f'<option value="{score}">' in page for score in metric.names)
    fixed = metric.variants.get(name, {})
    every = list_metric_options(type(metric)).values()
    options = [each for each in every if each.name not in fixed and each.type != "file"]
    assert all(f'name="metrics-{name}-{option.name}"' in page for option in options)
    for file in (each.name for each in every if each.type == "file"):
        # A challenge can't make the server read its files.
        assert f'name="metrics-{name}-{file}"' not in page
        with pytest.raises(OptionError, match="only the command line accepts a file"):
            normalize_name(f"{name}({file}=/etc/passwd)")
    # The other value of a flag, which every metric must accept.
    flag = next((each for each in options if each.type == "flag"), None)
    text = "" if flag is None else flag.show(not flag.default)
    sent = {} if flag is None else {f"metrics-{name}-{flag.name}": text}
    written = name if flag is None else f"{name}({flag.name}={text})"
    preview = staff.do("/new/form/", 200, **_form(metric.names[0]), metrics=[name], **sent)
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="(\w+)"', preview.content.decode())
    staff.do("/new/apply/", **{key: value for key, value in hidden if key != "csrfmiddlewaretoken"})
    split = Challenge.objects.get().splits.get()
    assert split.metrics == [written]
    assert METRICS[written]() == get_metric(written)
    assert written in staff.see("/contract/organize/files/challenge.toml")


def _form(sort_by: str) -> dict[str, Any]:
    return {
        "title": "Contract",
        "slug": "contract",
        "split": "test",
        "references": SimpleUploadedFile("references.json", json.dumps(REFERENCES).encode()),
        "reference_set": "c2",
        "sort_by": sort_by,
        "phase": "open",
        "opens": "2026-01-01T00:00",
        "closes": "2036-01-01T00:00",
        "quota_per_day": "5",
        "quota_total": "20",
        "leaderboard": "public",
        "visibility": "public",
    }


def capeval_process(folder: Path, *arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line, or code, with the distributions of a folder."""
    command = ["-c", code] if code else ["-m", "capeval"]
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", ""), str(PROJECT)])
    return subprocess.run(
        [sys.executable, *command, *arguments],
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "1000"},
        cwd=PROJECT if code else None,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_plugin_that_fails_is_reported_and_changes_nothing_else(run: Run, tmp_path: Path) -> None:
    assert run("metrics")
    folder = tmp_path / "packages"
    modules = {"broken_plugin": "import nowhere"}
    write_distribution(folder, "capeval-broken", {"capeval.metrics": "bad = broken_plugin"}, modules)
    score = ("score", "references.json", "good.json", "-m")
    done = capeval_process(folder, *score, "BLEU")
    assert (done.returncode, done.stderr) == (0, "")
    # Entry points are not searched at all.
    code = "import importlib.metadata as m; del m.entry_points; from capeval.cli import main; main()"
    paths = (str(tmp_path / name) for name in score[1:3])
    done = capeval_process(folder, "score", *paths, "-m", "bleu,CIDEr-D(n=2)", code=code)
    assert (done.returncode, done.stderr) == (0, "")
    warning = (
        "capeval: warning: capeval-broken: plug-in 'bad' of capeval.metrics can't be loaded: "
        "ModuleNotFoundError: No module named 'nowhere'"
    )
    listed = capeval_process(folder, "metrics")
    assert listed.returncode == 0
    assert listed.stderr.splitlines() == [warning]
    unknown = capeval_process(folder, *score, "Bad")
    assert unknown.returncode == 2
    assert unknown.stderr.splitlines()[0] == warning
    assert "unknown metric 'Bad'" in unknown.stderr.splitlines()[1]


def test_two_distributions_cannot_register_one_name(run: Run, tmp_path: Path, toys: Path) -> None:
    assert run("metrics")
    folder = tmp_path / "packages"
    source = (toys / "capeval_toy.py").read_text(encoding="utf-8")
    write_distribution(folder, "capeval-other", {"capeval.metrics": "toy = other_toy"}, {"other_toy": source})
    done = capeval_process(folder, "metrics")
    assert done.returncode == 2
    assert "duplicate metric name ('Toy' from capeval-" in done.stderr
    assert {"capeval-toy", "capeval-other"} <= {*re.findall(r"capeval-\w+", done.stderr)}
    done = capeval_process(folder, "score", "references.json", "good.json", "-m", "BLEU")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_missing_resource_is_reported_with_a_fix(
    run: Run, toys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = toys / "missing"
    assert "Needs toy words: installed" in run("metrics", "Toy")
    monkeypatch.setenv("TOY_WORDS", str(missing / "toy-words.txt"))
    done = capeval_process(toys, "score", "references.json", "good.json", "-m", "Toy,BLEU,ToyMean")
    assert done.returncode == 2
    assert done.stderr.endswith(f"mkdir {missing}; to score without Toy, ToyMean, use --metrics BLEU\n")


def test_the_command_line_takes_options(run: Run) -> None:
    chosen = "toy(text=raw),BLEU(orders=1,2,level=sentence)"
    found = json.loads(run("score", "references.json", "bad.json", "-m", chosen, "-f", "json"))
    assert list(found["metrics"]) == ["Toy", "BLEU-1", "BLEU-2"]
    assert found["signatures"]["Toy"]["options"] == ["text=raw"]
    assert "level=sentence" in found["signatures"]["BLEU"]["options"]


def test_memory_limits_include_resources(settings: Any) -> None:
    from capeval_server.submissions.scoring.pipeline import memory_limit

    (words,) = get_metric("Toy").resources
    assert memory_limit(["BLEU"]) == settings.MEMORY_BYTES
    assert memory_limit(["BLEU", "Toy(text=raw)"]) == settings.MEMORY_BYTES + words.memory


def test_metrics_may_read_captions_as_written() -> None:
    references, candidates = {1: ["The red bus"]}, {1: "the red bus."}
    for text, score in (("tokens", 1), ("raw", 1 / 2)):
        scores = get_metric(f"Toy(text={text})").prepare(references).score(candidates)
        assert scores.corpus == {"Toy": score}
    assert scores.signature.tokenizer == "none"


def test_invariances_are_tested_on_plugins(toys: Path) -> None:
    code = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    arguments = ("-q", "-n", "0", "-p", "no:cacheprovider", "-k", "Toy", "--hypothesis-profile", "few")
    done = capeval_process(toys, *arguments, "tests/properties/test_invariances.py", code=code)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split(" passed")[0].split()[-1]) >= 9 * len(TOY_METRICS), done.stdout
