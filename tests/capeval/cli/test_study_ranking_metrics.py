"""`capeval study ranking` with metrics of the user."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from capeval.cli.app import app

REFERENCES = {
    "x": ["a dog runs on the grass", "a dog runs", "the dog is running in grass"],
    "y": ["two cats sleep on a bed", "cats sleep", "a cat sleeps on the bed"],
}


@pytest.fixture
def references(tmp_path: Path) -> Path:
    path = tmp_path / "references.json"
    path.write_text(json.dumps(REFERENCES), encoding="utf-8")
    return path


def test_metrics_are_correlated_with_the_first(references: Path) -> None:
    out = references.parent / "out"
    metrics = ("--metrics", "CIDEr-D,CIDEr-D(stem=true),METEOR")
    result = CliRunner().invoke(app, ["study", "ranking", str(references), *metrics, "-o", str(out)])
    assert result.exception is None, result.output
    with (out / "rank-correlation.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["Metrics"] for row in rows] == ["CIDEr-D, CIDEr-D(stem=true)", "CIDEr-D, METEOR"]
    assert (out / "ranks.svg").exists()


def test_one_metric_has_no_correlations(references: Path) -> None:
    result = CliRunner().invoke(
        app, ["study", "ranking", str(references), "--metrics", "METEOR", "--top", "1"]
    )
    assert result.exception is None, result.output
    assert "METEOR   1" in result.output
