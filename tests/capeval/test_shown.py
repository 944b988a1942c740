"""Representations of reports and comparisons: the prompt, notebooks, and tables of other libraries."""

from __future__ import annotations

import sys
from dataclasses import replace
from html.parser import HTMLParser
from math import nan

import pyarrow as pa
import pytest

import capeval
from capeval._internal.notebook_html import html_table
from capeval.errors import DependencyError
from capeval.errors.messages import format_score
from capeval.scoring.significance import bootstrap, compare

REFERENCES = {
    1: ["A dog runs on the grass.", "The dog is running outside."],
    2: ["Two cats sleep on a bed.", "Cats on a bed."],
    3: ["A red bus drives down the street.", "A bus on a city street."],
}
CANDIDATES = {1: "A dog is running on grass.", 2: "Two cats on a bed.", 3: "A bus drives down a street."}
METRICS = ["BLEU", "ROUGE-L", "CIDEr-D"]


class Table(HTMLParser):
    """The text of each cell by rows, and all tags and their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.fixture
def report() -> capeval.Report:
    return capeval.evaluate(REFERENCES, CANDIDATES, METRICS, subsets={"<near>": [1, 2], "far": [3]})


def test_a_report_is_a_few_lines(report: capeval.Report) -> None:
    assert repr(report).splitlines() == [
        "<Report of 3 images",
        " BLEU-1 1.000, BLEU-2 0.845, BLEU-3 0.638, BLEU-4 0.424",
        " ROUGE-L 0.808",
        " CIDEr-D 3.880",
        " subsets '<near>', 'far'>",
    ]
    many = {image: ["a dog"] for image in range(50_000)}
    long = capeval.evaluate(many, dict.fromkeys(many, "a dog"), ["BLEU"])
    assert len(repr(long)) < 200


def test_a_report_with_intervals_shows_them(report: capeval.Report) -> None:
    found = report.with_intervals(samples=50, seed=3)
    assert found.intervals == bootstrap(report, samples=50, seed=3)
    assert report.intervals == {}
    low, high = found.intervals["ROUGE-L"].low, found.intervals["ROUGE-L"].high
    assert f"ROUGE-L 0.808 [{low:.3f}, {high:.3f}]\n" in repr(found)
    assert ["ROUGE-L", f"0.808 [{low:.3f}, {high:.3f}]"] == Table(found._repr_html_()).rows[5][:2]
    assert found.to_dict()["intervals"]["ROUGE-L"]["samples"] == 50
    assert "intervals" not in report.to_dict()
    rouge = replace(found.intervals["ROUGE-L"], score=nan, low=nan, high=nan)
    without = replace(found, corpus={**found.corpus, "ROUGE-L": nan}, intervals={"ROUGE-L": rouge})
    assert without.to_dict()["intervals"]["ROUGE-L"]["low"] is None
    assert " ROUGE-L - [-, -]\n" in repr(without)


def test_a_report_is_a_table_in_a_notebook(report: capeval.Report) -> None:
    html = report._repr_html_()
    rows = Table(html).rows
    assert rows[0] == ["", "3 images", "<near>", "far"]
    assert [row[0] for row in rows[1:]] == list(report.corpus)
    for name, *scores in rows[1:]:
        expected = [report.corpus[name], *(subset[name] for subset in report.subsets.values())]
        assert scores == [f"{score:.3f}" for score in expected]
    assert "<near>" not in html
    for signature in report.signatures.values():
        assert str(signature) in html


def test_tables_take_the_colors_of_the_page() -> None:
    # Of a light one and of a dark one: no color of its own but a gray with transparency.
    html = html_table(("", "b"), [("c", "1")], notes={"d": ["<e>"]})
    assert "#" not in html
    assert html.count("color: inherit") == 5
    assert "<summary>d</summary><div>&lt;e&gt;</div>" in html


def test_a_score_that_is_no_number_is_a_dash() -> None:
    assert (format_score(nan), format_score(0.12345)) == ("-", "0.123")


def test_two_reports_compare_in_one_call(report: capeval.Report) -> None:
    other = capeval.evaluate(REFERENCES, {**CANDIDATES, 2: "A cat."}, METRICS)
    for method in ("bootstrap", "randomization"):
        found = report.compare(other, method=method, samples=40, seed=2, level=0.9)
        assert found == compare(report, other, method=method, samples=40, seed=2, level=0.9)
    rouge = found["ROUGE-L"]
    rows = Table(found._repr_html_()).rows
    assert rows[0] == ["", "a", "b", "a - b", "p-value"]
    assert [row[0] for row in rows[1:]] == list(found)
    assert rows[5][1:3] == [f"{rouge.a:.3f}", f"{rouge.b:.3f}"]
    assert rows[5][3] == f"{rouge.difference:+.4f} [{rouge.low:+.4f}, {rouge.high:+.4f}]"
    assert len(repr(found).splitlines()) == 1 + len(found) + len(found.notes)


@pytest.mark.parametrize("ids", [[1, 2, 3], ["a.jpg", "b.jpg", "c.jpg"]])
def test_the_scores_of_images_are_tables_of_other_libraries(ids: list[int] | list[str]) -> None:
    references = dict(zip(ids, REFERENCES.values(), strict=True))
    candidates = dict(zip(ids, CANDIDATES.values(), strict=True))
    report = capeval.evaluate(references, candidates, METRICS)  # type: ignore[arg-type]
    arrow, polars, pandas = report.to_arrow(), report.to_polars(), report.to_pandas()
    assert arrow.column_names == polars.columns == ["image_id", *report.per_image]
    assert arrow["image_id"].to_pylist() == polars["image_id"].to_list() == pandas.index.to_list() == ids
    for name, scores in report.per_image.items():
        assert arrow[name].type == pa.float64()
        assert arrow[name].to_pylist() == polars[name].to_list() == pandas[name].to_list() == scores.tolist()


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_what_is_not_installed_is_named(
    name: str, report: capeval.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    method = f"to_{name.replace('pyarrow', 'arrow')}"
    with pytest.raises(DependencyError, match=f"{method} needs {name}: pip install {name}"):
        getattr(report, method)()
