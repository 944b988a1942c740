"""Paired tests of metrics' accuracies, balanced wins, tables of single pairs, and their page."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import binomtest

from capeval.formats.judgments.plans import Pair
from capeval.scoring.multiple_comparisons import correct_holm
from capeval.studies.consensus import balanced_fraction_of_wins, compare_accuracies, fraction_of_wins
from capeval.studies.consensus.accuracy_tests import compute_sign_test
from capeval.studies.consensus.judged_pairs import JudgedPairs, judge_pairs
from capeval.studies.consensus.pair_tables import build_pair_table, build_test_table, render_pairs
from capeval.studies.shared.pair_scores import PairScorer
from capeval.studies.shared.ties import TieRules

DOG = ("The dog is running.", "A dog runs on grass.")
BUS = ("A red bus.", "The bus on a street.")


def judged(votes: Sequence[tuple[int, ...]] = ((1, 1, -1), (-1, -1, -1), (1, -1))) -> JudgedPairs:
    candidates = (("A dog runs.", "A cat sits."), ("A dog runs.", "A dog sits."), ("A bus.", "A bed."))
    pairs = [
        Pair(image=f"{row}.jpg", first=one, second=other, references=texts, kind="HC", votes=each)
        for row, ((one, other), texts, each) in enumerate(
            zip(candidates, (DOG, DOG, BUS), votes, strict=True)
        )
    ]
    return judge_pairs(PairScorer(pairs), {"consensus": pairs})


@pytest.mark.parametrize(("better", "worse"), [(0, 0), (1, 0), (7, 2), (2, 7), (400, 300), (306, 349)])
def test_the_sign_test_equals_scipys(better: int, worse: int) -> None:
    expected = binomtest(better, better + worse).pvalue if better + worse else 1.0
    assert compute_sign_test(better, worse) == pytest.approx(expected, rel=1e-9)


def test_tests_count_pairs_on_which_one_metric_is_better() -> None:
    truth = np.array([1, 1, -1, -1, 0, 1])
    differences = {
        "a": np.array([0.1, 0.2, -0.1, -0.1, 1.0, 0.0]),
        "b": np.array([0.1, -0.2, 0.1, -0.1, -1.0, 0.2]),
        "c": np.array([0.1, 0.0, 0.0, 0.0, -1.0, 0.2]),
    }
    tests = compare_accuracies(differences, truth)
    assert [(test.first, test.second) for test in tests] == [("a", "b"), ("a", "c"), ("b", "c")]
    # The pair without a human winner is excluded. A tie is incorrect.
    assert [(test.first_better, test.second_better) for test in tests] == [(2, 1), (3, 1), (1, 0)]
    assert tests[0].difference == pytest.approx(0.2)
    assert [test.corrected_p_value for test in tests] == correct_holm([test.p_value for test in tests])
    half = compare_accuracies(differences, truth, TieRules(ties="half"))
    assert half[0].difference == pytest.approx(0.3)


def test_balanced_wins_weight_opponents_equally() -> None:
    systems = [("a", "b")] * 8 + [("a", "c")] * 2 + [("b", "c")] * 2
    chosen = np.array([1] * 8 + [-1] * 2 + [1, 0])
    assert fraction_of_wins(systems, chosen) == pytest.approx({"a": 0.8, "b": 0.15, "c": 0.625})
    assert balanced_fraction_of_wins(systems, chosen) == pytest.approx({"a": 0.5, "b": 0.375, "c": 0.625})


def test_the_table_of_pairs_has_winners_votes_and_scores() -> None:
    found = judged()
    grid = build_pair_table(found, TieRules())
    rows = [dict(zip(grid.columns, (cell.value for cell in row), strict=True)) for row in grid.rows]
    assert [row["Winner (consensus)"] for row in rows] == ["first", "second", "tie"]
    assert [row["Votes for first (consensus)"] for row in rows] == [2, 0, 1]
    assert [row["Votes for second (consensus)"] for row in rows] == [1, 3, 1]
    assert [row["ROUGE-L correct"] for row in rows] == [1.0, 0.0, None]
    assert [rows[0]["ROUGE-L first"], rows[0]["ROUGE-L second"]] == found.scores["ROUGE-L"][0].tolist()


def test_the_table_of_tests_shows_both_p_values() -> None:
    found = judged()
    grid = build_test_table(compare_accuracies(found.differences, found.truth), TieRules())
    assert len(grid.rows) == 21
    assert grid.columns[-2:] == ("p-value", "p-value (Holm)")
    assert {row[-1].text for row in grid.rows} == {"1.0000"}


def test_the_page_shows_disagreements_only() -> None:
    page = render_pairs(judged(), title="Disagreements")
    assert "<title>Disagreements</title>" in page
    # On pair 0 all metrics agree with people; pair 2 has no human winner.
    assert '"ids":["1.jpg (pair 1)"]' in page
    assert '"systems":["Preferred by people","Other candidate"]' in page
    assert '"candidates":[["A dog sits."],["A dog runs."]]' in page
    assert '<option value="1" selected>Other candidate</option>' in page
