"""Text forms of reports: contents, and escaping of names."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from capeval import Candidates, References, evaluate
from capeval.errors import DependencyError, MismatchError, OptionError
from capeval.report import (
    Cell,
    Grid,
    System,
    create_comparison_table,
    create_image_table,
    create_pair_table,
    create_score_table,
    create_system_table,
    scale_table,
    to_csv,
    to_html,
    to_json,
    to_latex,
    to_markdown,
)
from capeval.report.terminal import format_table
from capeval.scoring.grids import replace_bold
from capeval.scoring.multiple_comparisons import compare_systems
from capeval.scoring.significance import bootstrap, compare

REFERENCES = References(
    {image: [f"a man number {image} rides a horse", "one man on a brown horse"] for image in range(8)}
)
GOOD = Candidates({image: f"a man number {image} rides" for image in range(8)})
BAD = Candidates({image: "" if image else "a <script>alert(1)</script> man" for image in range(8)})
SUBSETS = {"low": [0, 1, 2], "high": [3, 4, 5, 6, 7]}


def system(name: str, candidates: Candidates, **options: Any) -> System:
    report = evaluate(REFERENCES, candidates, **options)
    return System(name=name, report=report, intervals=bootstrap(report, samples=20))


def test_scores_mark_the_best_and_show_what_was_published() -> None:
    grid = create_score_table([system("good", GOOD), system("bad", BAD)], {"people": {"BLEU-1": 0.5}})
    assert grid.columns[:3] == ("System", "BLEU-1", "BLEU-2")
    good, bad, people = grid.rows
    assert all(cell.best for cell in good[1:])
    assert not any(cell.best for cell in (*bad, *people))
    assert people[1].value == 0.5
    assert people[2].value is None
    assert good[1].low is not None
    assert good[1].high is not None
    assert good[1].low <= float(good[1].value or 0) <= good[1].high


def test_one_system_alone_is_not_the_best() -> None:
    assert not any(cell.best for row in create_score_table([system("one", GOOD)]).rows for cell in row)


def test_subsets_follow_the_whole() -> None:
    grid = create_score_table([system("a", GOOD, subsets=SUBSETS), system("b", BAD, subsets=SUBSETS)])
    assert [row[1].value for row in grid.rows] == ["all", "all", "low", "low", "high", "high"]


def test_systems_that_do_not_fit_are_refused() -> None:
    with pytest.raises(MismatchError, match="same metrics"):
        create_score_table([system("a", GOOD), system("b", BAD, metrics=["BLEU"])])
    with pytest.raises(MismatchError, match="same subsets"):
        create_score_table([system("a", GOOD), system("b", BAD, subsets=SUBSETS)])
    with pytest.raises(MismatchError, match="at least one system"):
        create_image_table([])


def test_json_is_an_object_or_a_list_in_full_precision() -> None:
    good, bad = system("good", GOOD), system("bad", BAD)
    one = json.loads(to_json([good], per_image=True))
    assert one["system"] == "good"
    assert one["metrics"] == dict(good.report.corpus)
    assert one["signatures"]["BLEU"]["images"] == 8
    assert one["intervals"]["CIDEr-D"]["samples"] == 20
    assert one["per_image"][3]["image_id"] == 3
    assert one["per_image"][3]["ROUGE-L"] == good.report.per_image["ROUGE-L"][3]
    two = json.loads(to_json([good, bad]))
    assert [each["system"] for each in two] == ["good", "bad"]
    assert "per_image" not in two[0]


def test_csv_has_full_precision_and_the_ends_of_intervals() -> None:
    good = system("good", GOOD)
    header, row = csv.reader(io.StringIO(to_csv(create_score_table([good]))))
    cells = dict(zip(header, row, strict=True))
    assert float(cells["CIDEr-D"]) == good.report.corpus["CIDEr-D"]
    assert float(cells["BLEU-1 low"]) == good.intervals["BLEU-1"].low
    rows = list(csv.reader(io.StringIO(to_csv(create_image_table([good])))))
    assert len(rows) == 9
    assert rows[0][:3] == ["System", "image_id", "BLEU-1"]


@pytest.mark.parametrize("name", ["=1+1", "+1+1", "-a1", "+1", "-1", "@x", "\t=1", "\r=1"])
def test_csv_holds_no_formulas(name: str) -> None:
    # A number is no formula.
    written = name if name in ("+1", "-1") else f"'{name}"
    grid = Grid(columns=(name, "n"), rows=((Cell(value=name), Cell(value=-1.5)),))
    header, row = csv.reader(io.StringIO(to_csv(grid), newline=""))
    assert header[0] == row[0] == written
    assert row[1] == "-1.5"


def test_markdown_is_escaped_and_aligned() -> None:
    grid = Grid(
        columns=("System", "x|y"),
        rows=((Cell(value="a_b|<i>*"), Cell(value=0.12345, low=0.1, high=0.2, best=True)),),
    )
    assert to_markdown(grid).splitlines() == [
        r"| System | x\|y |",
        "| --- | ---: |",
        r"| a\_b\|\<i\>\* | **0.123 \[0.100, 0.200\]** |",
    ]


def test_latex_is_escaped() -> None:
    grid = Grid(columns=("System",), rows=((Cell(value="\\50% & $x_1^2 #{~}"),), (Cell(value="[b]"),)))
    text = to_latex(grid)
    assert r"\textbackslash{}50\% \& \$x\_1\textasciicircum{}2 \#\{\textasciitilde{}\} \\" in text
    assert "\n{}[b] \\\\" in text
    assert text.startswith("% \\usepackage{booktabs}\n\\begin{tabular}{l}\n")


NOTED = ("8 images, 2 references each (a_b.json).", "COCO papers report CIDEr-D as CIDEr.")


def test_notes_say_once_what_readers_ask() -> None:
    made = system("good", GOOD, **FEW)
    grid = create_score_table([made, made], source="a_b.json")
    assert grid.notes == (
        NOTED[0],
        f"{NOTED[1]} Papers often print scores times 100.",
        "In brackets: 95% bootstrap intervals over images (20 samples, seed 0).",
        "With fewer than 30 images, intervals are unreliable.",
    )
    assert to_markdown(grid).splitlines()[-5:] == [
        "",
        r"8 images, 2 references each (a\_b.json).",
        *grid.notes[1:],
    ]
    assert to_latex(grid).splitlines()[-4:] == [f"% {note}" for note in grid.notes]
    assert "COCO" not in to_csv(grid)
    page = Page(page_of([made], source="a_b.json"))
    assert all(page.text.count(note) == 1 for note in grid.notes)
    compared = create_comparison_table(
        compare(made.report, made.report, samples=20), "a", "b", notes=made.report.notes()
    )
    assert to_markdown(compared).endswith(f"8 images, 2 references each.\n{grid.notes[1]}\n")


def test_notes_are_of_what_was_scored() -> None:
    few = References({1: ["a dog"], 2: ["a cat", "cats"]})
    said = Candidates({1: "a dog", 2: "a cat"})
    report = evaluate(few, said, ["BLEU-1", "CIDEr-2015"])
    assert report.notes() == (
        "2 images, 1 to 2 references each.",
        "CIDEr-2015 is the original metric of the CIDEr paper, which other papers rarely report."
        " Papers often print scores times 100.",
    )
    one = evaluate(few.select([1]), said.select([1]), ["BLEU-1"])
    assert one.notes("x") == ("1 image, 1 reference each (x).", "Papers often print scores times 100.")
    assert "1 image, 1 reference each." in one._repr_html_()
    # No line end of a file's name ends the comment of LaTeX.
    assert "% 1 image, 1 reference each (x\\ny)." in to_latex(
        create_score_table([System(name="a", report=one)], source="x\ny")
    )


def test_comparisons_have_a_row_for_each_score() -> None:
    good, bad = system("good", GOOD), system("bad", BAD)
    compared = compare(good.report, bad.report, samples=20)
    grid = create_comparison_table(compared, "good", "bad")
    assert [row[0].value for row in grid.rows] == list(good.report.corpus)
    assert all(row[1].best and not row[2].best for row in grid.rows)
    assert grid.rows[0][3].low == compared["BLEU-1"].low


class Page(HTMLParser):
    """Collects tags, addresses and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href"):
                self.addresses.append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


FEW: dict[str, Any] = {"metrics": ["BLEU-2", "CIDEr-D"]}


def page_of(systems: list[System], **options: Any) -> str:
    captions = {"good": GOOD, "<b>bad</b>": BAD}
    return to_html(systems, references=REFERENCES, candidates=captions, **options)


def test_the_page_needs_nothing_beside_it() -> None:
    text = page_of([system("good", GOOD, **FEW), system("<b>bad</b>", BAD, **FEW)], title="A & B")
    page = Page(text)
    # Two plots for each of the two scores.
    assert page.tags.count("svg") == 4
    # The data and the script of the browser of captions.
    assert page.tags.count("script") == 2
    assert "b" not in page.tags
    assert all(address.startswith("#") for address in page.addresses)
    assert not re.search(r"url\((?!#)|@import", text)
    assert len(page.ids) == len(set(page.ids))
    assert "A & B" in page.text
    assert "<script>alert(1)</script>" in page.text
    assert "a man number 3 rides a horse" in page.text
    assert f"{evaluate(REFERENCES, GOOD).corpus['CIDEr-D']:.3f}" in page.text


def test_a_page_without_captions_has_no_script() -> None:
    text = to_html([system("good", GOOD, **FEW)])
    assert "script" not in Page(text).tags
    assert 'default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;"' in text


def test_the_same_scores_give_the_same_page() -> None:
    assert page_of([system("good", GOOD, **FEW)]) == page_of([system("good", GOOD, **FEW)])


@pytest.mark.parametrize("name", ["$x$", "_x", "a\\b", "名前"])
def test_names_that_plots_could_misread(name: str) -> None:
    with_name = [system(name, GOOD, **FEW), system("good", BAD, **FEW)]
    assert Page(page_of(with_name)).text.count(name) >= 3


def test_examples_are_ordered_by_the_score_asked_for() -> None:
    assert "Best BLEU-2" in page_of([system("good", GOOD, **FEW)], examples_by="BLEU-2")
    with pytest.raises(OptionError, match="'examples_by' must be one of"):
        page_of([system("good", GOOD, **FEW)], examples_by="SPICE")


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_package_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("svg_plots", "browser", "templates"):
        monkeypatch.delitem(sys.modules, f"capeval.report.{module}", raising=False)
        monkeypatch.delattr(f"capeval.report.{module}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        DependencyError, match=rf'HTML reports need {package}: pip install "capeval\[report\]"'
    ):
        page_of([system("good", GOOD, **FEW)])


def test_wide_tables_of_terminals_are_transposed() -> None:
    made = [system(name, GOOD, metrics=["BLEU", "ROUGE-L", "CIDEr-D"]) for name in ("a", "b")]
    grid = create_score_table(made)
    wide = format_table(grid)
    assert format_table(grid, width=200) == wide
    narrow = format_table(grid, width=80).splitlines()
    assert narrow[0].split() == ["System", "a", "b"]
    assert [line.split()[0] for line in narrow[2:]] == list(grid.columns[1:])
    assert all(len(line) <= 80 for line in narrow)


def test_tables_that_stay_too_wide_are_divided() -> None:
    names = [f"system {number}" for number in range(7)]
    # Transposing many rows would make a table wider.
    many = create_score_table([system(name, GOOD) for name in names])
    wide, divided = format_table(many), format_table(many, width=60)
    parts = [part.splitlines() for part in divided.split("\n\n")]
    assert all(len(line) <= 60 for part in parts for line in part)
    assert len(parts) > 1
    assert {part[0].split()[0] for part in parts} == {"System"}
    assert [name for part in parts for name in part[0].split()[1:]] == wide.splitlines()[0].split()[1:]
    assert [line[:8] for part in parts for line in part[2:]] == names * len(parts)
    # One other column is shown even if it is too wide, and tables of many rows stay whole.
    assert format_table(many, "Title", width=1).count("System") == len(many.columns) - 1
    assert format_table(many, "Title", width=1).startswith("Title\nSystem")
    long = Grid(columns=many.columns, rows=many.rows * 10)
    assert format_table(long, width=60) == format_table(long)


def test_parts_of_a_table_repeat_shortened_names() -> None:
    names = [f"transformer_base_with_a_long_name_seed_{number}" for number in range(3)]
    reports = {name: system(name, GOOD).report for name in names}
    grid = create_pair_table({"all": compare_systems(reports, all_pairs=True, samples=9)})
    for width in (60, 80):
        parts = [part.splitlines() for part in format_table(grid, width=width).split("\n\n")]
        assert all(len(line) <= width for part in parts for line in part)
        assert all(part[0].split()[:3] == ["Metric", "A", "B"] for part in parts)
        labels = {tuple(tuple(line.split()[:3]) for line in part[2:]) for part in parts}
        assert len(labels) == 1
        assert len(set(*labels)) == len(grid.rows)
    assert " tran…d_0   tran…ed_1 " in format_table(grid, width=60)


def test_bold_scores_have_an_asterisk_in_plain_text() -> None:
    rows = ((Cell(value="a"), Cell(value=0.5, best=True)), (Cell(value="b"), Cell(value=0.25)))
    grid = Grid(columns=("System", "BLEU-1"), rows=rows, notes=("Bold: better at 5%.", "Other."))
    plain = replace_bold(grid)
    assert format_table(plain).split() == ["System", "BLEU-1", "─" * 15, "a", "0.500*", "b", "0.250"]
    assert plain.notes == ("*: better at 5%.", "Other.")
    assert replace_bold(replace(grid, notes=())).rows == rows


def test_scores_times_100() -> None:
    made = [system(name, captions, **FEW) for name, captions in (("a", GOOD), ("b", BAD))]
    plain, scaled = create_score_table(made), scale_table(create_score_table(made))
    for row, others in zip(plain.rows, scaled.rows, strict=True):
        assert others[0] == row[0]
        for cell, other in zip(row[1:], others[1:], strict=True):
            assert isinstance(cell.value, float)
            assert cell.low is not None
            assert (other.value, other.low, other.digits) == (100 * cell.value, 100 * cell.low, 1)
            assert other.best is cell.best
    assert "times 100" in plain.notes[1]
    assert scaled.notes[1].endswith("Scores are times 100.")
    assert scale_table(create_image_table(made)).notes == ("Scores are times 100.",)
    compared = compare(made[0].report, made[1].report)
    row = scale_table(create_comparison_table(compared, "a", "b")).rows[0]
    found = compared[str(row[0].value)]
    assert (row[1].value, row[3].low, row[3].digits) == (100 * found.a, 100 * found.low, 2)
    assert (row[5].value, row[5].digits) == (found.p_value, 4)


def test_options_and_tokenizers_are_noted() -> None:
    report = evaluate(REFERENCES, GOOD, "CIDEr-D(stem=true),BLEU(level=sentence)", tokenizer="zh")
    notes = report.notes()
    assert notes[1:3] == (
        "Not the default options: CIDEr-D(stem=true), BLEU(level=sentence).",
        "Tokenizer: zh.",
    )
    assert not any("COCO papers" in note for note in notes)
    assert not any(
        "default options" in note for note in evaluate(REFERENCES, GOOD, "METEOR-de,BLEU-1").notes()
    )


def test_a_table_of_systems_explains_its_marks() -> None:
    made = [system(name, captions, **FEW) for name, captions in (("a", GOOD), ("b", BAD))]
    pairs = compare_systems({each.name: each.report for each in made})
    notes = create_system_table(made, pairs).notes
    assert "\N{DAGGER}: differs significantly from a." in notes
    assert notes[-1].startswith("p-value: exact paired randomization")


def test_a_report_explains_its_intervals() -> None:
    report = evaluate(REFERENCES, GOOD, ["ROUGE-L"], subsets=SUBSETS)
    assert "In brackets" not in report.to_markdown()
    table = report.with_intervals(samples=20).to_markdown("Ours", scale=100)
    assert table.startswith("| System | Images | ROUGE-L |\n")
    assert "| Ours | low |" in table
    assert r"In brackets: 95% bootstrap intervals over images (20 samples, seed 0)." in table
    with pytest.raises(OptionError, match=r"'scale' must be 1 or 100 \(got 10\)"):
        report.to_latex(scale=10)  # type: ignore[arg-type]
