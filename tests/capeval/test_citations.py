"""BibTeX of capeval, of the metrics' papers and of benchmarks."""

from __future__ import annotations

import re
from email.message import Message
from pathlib import Path

import pytest

from capeval import __version__, evaluate
from capeval.cli.app import app
from capeval.data import citations
from capeval.datasets.benchmarks import BENCHMARKS
from capeval.metrics import CLASSES, METRICS
from capeval.metrics.citations import cite_metrics

FILE = Path(citations.__file__).with_name("citations.bib")
PAGES = Path(__file__).parents[2] / "docs" / "metrics"
ENTRIES = re.findall(r"^@\w+\{(\w+),$", FILE.read_text(encoding="utf-8"), re.MULTILINE)
REFERENCES, CANDIDATES = {1: ["A big red bus."], 2: ["Two cats."]}, {1: "A red bus.", 2: "Cats."}


def list_keys(bibtex: str) -> list[str]:
    """Return the keys of BibTeX entries."""
    return re.findall(r"^@\w+\{(\w+),$", bibtex, re.MULTILINE)


def test_a_report_cites_its_metrics_once() -> None:
    report = evaluate(REFERENCES, CANDIDATES, ["CIDEr-D", "BLEU-1", "ROUGE-1", "ROUGE-L", "BLEU-2"])
    assert list_keys(report.cite()) == ["capeval", "vedantam2015cider", "papineni2002bleu", "lin2004rouge"]


def test_spider_cites_its_parts() -> None:
    keys = list_keys(cite_metrics([METRICS["SPIDEr"](), METRICS["SPICE"]()]))
    assert keys == ["capeval", "liu2017spider", "anderson2016spice", "vedantam2015cider"]


def test_the_command_cites_all_metrics(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    app.main(args=["--cite"], standalone_mode=False)
    text = capfdbinary.readouterr().out.decode()
    assert list_keys(text)[0] == "capeval"
    assert f"version = {{{__version__}}}" in text
    for metric in CLASSES.values():
        # Numbers without a judgment, such as a length, and capeval's own definitions come from no paper.
        page = (PAGES / f"{metric.docs_page}.md").read_text(encoding="utf-8")
        assert metric.citations or not metric.has_direction or "definition is capeval's own" in page
        assert set(metric.citations) <= set(list_keys(text))


def test_all_entries_are_used() -> None:
    used = {"capeval", *(key for metric in CLASSES.values() for key in metric.citations)}
    used |= {key for benchmark in BENCHMARKS.values() for key in benchmark.citations}
    assert sorted(ENTRIES) == sorted(used)


def test_entries_are_balanced() -> None:
    for entry in FILE.read_text(encoding="utf-8").split("\n\n"):
        assert entry.count("{") == entry.count("}"), entry
        assert all(f"\n  {field} = {{" in entry for field in ("title", "author", "year")), entry


def test_a_plugin_metric_has_its_own_entry() -> None:
    own = "@misc{toy,\n  title = {Toy}\n}"
    assert citations.get_bibtex([own, "capeval", own]).startswith(f"{own}\n\n@software{{capeval,")
    assert citations.get_bibtex([own, own]) == f"{own}\n"


def test_the_address_comes_from_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    package = Message()
    package["Project-URL"] = "Documentation, https://example.org/docs/"
    package["Project-URL"] = "Repository, https://example.org/capeval"
    monkeypatch.setattr("importlib.metadata.metadata", lambda _: package)
    assert "  version = {0.1.0},\n  url = {https://example.org/capeval}\n}\n" in cite_metrics([])


def test_the_page_names_all_keys() -> None:
    page = Path(__file__).parents[2] / "docs" / "project" / "citing.md"
    assert {*re.findall(r"`(\w+\d{4}\w+)`", page.read_text(encoding="utf-8"))} == {*ENTRIES} - {"capeval"}
