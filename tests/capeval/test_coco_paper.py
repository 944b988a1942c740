"""Correlation of metrics with the published judgments of the COCO challenge."""

from __future__ import annotations

import pytest
from scipy.stats import kendalltau

from capeval.datasets.published.tables import load_coco_2015, load_coco_2015_judgments
from capeval.studies.coco_paper.judgments import correlate_challenge


@pytest.mark.parametrize(("with_people", "rows"), [(True, 11), (False, 10)])
def test_coefficients_are_those_of_scipy(with_people: bool, rows: int) -> None:
    grid = correlate_challenge("c40", with_people=with_people)
    board = {(row.team, row.date): row.scores for row in load_coco_2015("c40")}
    judged = [row for row in load_coco_2015_judgments() if (row.team, row.date) in board]
    judged = [row for row in judged if with_people or row.team != "Human"]
    assert len(judged) == rows
    assert f"{rows} rows" in " ".join(grid.notes)
    for metric, *cells in grid.rows:
        for question, cell in zip(grid.columns[1:], cells, strict=True):
            scores = [board[row.team, row.date][str(metric.value)] for row in judged]
            expected = kendalltau(scores, [row.scores[question] for row in judged]).statistic
            assert cell.value == pytest.approx(expected, abs=1e-12)
            assert cell.low is not None
            assert cell.high is not None
            assert cell.low < expected < cell.high


def test_later_submissions_are_left_out() -> None:
    assert "ACVT" in correlate_challenge().notes[-1]
