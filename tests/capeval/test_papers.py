"""Comparison of papers with computed results."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from capeval.cli.toolkit.study_output import write_paper_report
from capeval.scoring.grids import Cell, Grid
from capeval.studies.shared.papers import PaperClaim, PaperPart, PaperReport, PaperValue, Verdict


@pytest.mark.parametrize(
    ("published", "computed", "digits", "tolerance", "verdict"),
    [
        (71.5, 71.549, 1, None, "met"),
        (71.5, 71.551, 1, None, "not met"),
        (71.5, 71.45, 1, None, "met"),
        (0.98, 0.7, 2, 0.3, "met"),
        (0.98, 0.67, 2, 0.3, "not met"),
        (202_520, 202_654, 0, None, "not met"),
        (0.98, None, 2, None, "not computed"),
    ],
)
def test_values(
    published: float, computed: float | None, digits: int, tolerance: float | None, verdict: Verdict
) -> None:
    value = PaperValue(
        name="score", published=published, computed=computed, digits=digits, tolerance=tolerance
    )
    assert value.verdict == verdict


MET = PaperValue(name="CIDEr-D", published=0.9, computed=0.91)
DIFFERENT = PaperValue(name="BLEU-1, c5", published=0.663, computed=0.62971, digits=3)
ABSENT = PaperValue(name="BLEU-1, c40", published=0.88, computed=None, digits=3)
CLAIM = PaperClaim(text="Precision falls", evidence="0.4, 0.5", is_met=True)


@pytest.mark.parametrize(
    ("values", "claims", "outcome"),
    [
        ((MET, MET), (), "met (2 of 2)"),
        ((MET, DIFFERENT), (CLAIM,), "not met (2 of 3)"),
        ((MET, ABSENT), (), "met (1 of 1), 1 not computed"),
        ((ABSENT,), (PaperClaim(text="Precision falls"),), "not computed"),
        ((), (), "not computed"),
    ],
)
def test_parts(values: tuple[PaperValue, ...], claims: tuple[PaperClaim, ...], outcome: str) -> None:
    assert PaperPart(name="Table 1", title="Scores", values=values, claims=claims).outcome == outcome


def test_a_part_without_published_numbers() -> None:
    table = Grid(columns=("Metric",), rows=((Cell(value="CIDEr-D"),),))
    assert PaperPart(name="Section 6", title="Plans", tables={"plans": table}).outcome == (
        "no published numbers"
    )


def test_files_of_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = Grid(columns=("Metric",), rows=((Cell(value="CIDEr-D"),),))
    parts = (
        PaperPart(
            name="Table 1",
            title="Scores",
            values=(DIFFERENT, ABSENT),
            claims=(CLAIM,),
            reason="Other images.",
            tables={"more": table},
        ),
    )
    paper = PaperReport(
        title="A paper", source="Authors, 2015.", parts=parts, missing={"Part 2": "`capeval browse` shows it"}
    )
    write_paper_report(paper, tmp_path)
    assert "not met (1 of 2), 1 not computed" in capsys.readouterr().out
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert page.startswith("# A paper\n\nAuthors, 2015.\n")
    assert "| BLEU-1, c5 | 0.663 | 0.6297 | not met |" in page
    assert "| Precision falls | 0.4, 0.5 | met |" in page
    assert "Other images." in page
    assert "| Part 2 | `capeval browse` shows it |" in page
    with (tmp_path / "values.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["Published"], row["Result"]) for row in rows] == [
        ("0.663", "not met"),
        ("0.88", "not computed"),
        ("", "met"),
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "more.csv",
        "parts.csv",
        "report.md",
        "values.csv",
    ]
