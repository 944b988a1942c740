"""Win rates of systems: fractions, strengths, confidence intervals and exclusions."""

import choix
import numpy as np
import pytest

from capeval.errors import MismatchError
from capeval.formats.judgments.plans import Pair, Plan, Triplet
from capeval.studies.judging import JudgingOptions
from capeval.studies.judging.bradley_terry import fit_bradley_terry
from capeval.studies.judging.wins import judge_wins
from capeval.studies.votes import PlanVotes, count_pair_votes, count_votes


def pair(image: int, first_by: str | None, second_by: str | None, kind: str = "MM") -> Pair:
    return Pair(
        image=image,
        kind=kind,
        first=f"first {image}",
        second="second",
        first_by=first_by,
        second_by=second_by,
    )


def counted(rows: list[tuple[int, str, str, list[int]]]) -> PlanVotes:
    pairs = [pair(image, first, second) for image, first, second, _ in rows]
    return count_pair_votes(pairs, [answers for *_, answers in rows])


# Ten images: "a" wins seven of ten against "b", and all against "c", which ties with "b".
ROWS = [
    *[(image, "a", "b", [1, 1, -1] if image < 7 else [-1, -1, 1]) for image in range(10)],
    *[(image, "c", "a", [-1, -1]) for image in range(10)],
    *[(image, "b", "c", [1, -1]) for image in range(10)],
]


def test_fractions_of_wins_count_a_tie_as_half() -> None:
    wins, _ = judge_wins(counted(ROWS), JudgingOptions(samples=200))
    assert {name: row.interval.score for name, row in wins.rows.items()} == {
        "a": 17 / 20,
        "b": (3 + 5) / 20,
        "c": 5 / 20,
    }
    assert list(wins.rows) == ["a", "b", "c"]
    row = wins.rows["a"]
    assert (row.images, row.votes) == (10, 50)
    assert row.interval.low < row.interval.score < row.interval.high
    # The wins and losses of "c" are the same for each image, which does not make its fraction certain.
    assert wins.rows["c"].interval.low < 0.2 < 0.3 < wins.rows["c"].interval.high
    assert wins.notes[1] == "In brackets: 95% Wilson intervals over images."
    assert "(nominal scale)" in wins.notes[-1]
    assert wins.rows["b"].alpha is not None


def test_strengths_are_those_of_bradley_and_terry_with_a_tie_more() -> None:
    _, strength = judge_wins(counted(ROWS), JudgingOptions(samples=50))
    table = np.array([[0, 7, 10], [3, 0, 5], [0, 5, 0]], dtype=float)
    expected = fit_bradley_terry(table + (1 - np.eye(3)) / 2)
    assert [strength.rows[name].interval.score for name in "abc"] == pytest.approx(expected.tolist())
    # "c" never wins against "a", and has a strength all the same, lower than the other's.
    assert strength.rows["c"].interval.high < strength.rows["a"].interval.low


def test_strengths_vary_with_images_and_are_never_certain() -> None:
    # "a" wins all of its comparisons.
    rows = [(image, first, second, [1]) for image in range(20) for first, second in (("a", "b"), ("b", "c"))]
    _, strength = judge_wins(counted(rows), JudgingOptions(samples=20))
    assert strength.notes[1] == "In brackets: 95% cluster-robust intervals over images."
    for row in strength.rows.values():
        assert row.interval.high - row.interval.low > 1
    # Four equal comparisons of each image are no more evidence than one.
    images = [([1], [-1])[image % 3 == 0] for image in range(60)]
    once = counted([(image, "a", "b", votes) for image, votes in enumerate(images)])
    often = counted([(image, "a", "b", votes) for image, votes in enumerate(images) for _ in range(4)])
    widths = []
    for votes in (once, often):
        interval = judge_wins(votes, JudgingOptions(samples=2))[1].rows["a"].interval
        widths.append(interval.high - interval.low)
    assert widths[0] == pytest.approx(widths[1], rel=0.05)


def test_strengths_are_those_of_choix() -> None:
    rng = np.random.default_rng(5)
    for systems in (2, 3, 6):
        wins = rng.integers(0, 20, (systems, systems)).astype(np.float64)
        np.fill_diagonal(wins, 0)
        # The additional tie of systems that met is half a win for both.
        table = wins + ((wins + wins.T) > 0) / 2
        expected = choix.lsr_pairwise_dense(table, alpha=0)
        for _ in range(200):
            expected = choix.lsr_pairwise_dense(table, alpha=0, initial_params=expected)
        assert fit_bradley_terry(table) == pytest.approx(expected - expected.mean(), abs=1e-8)


def test_which_is_first_in_a_pair_is_of_no_matter() -> None:
    swapped = [(image, second, first, [-vote for vote in votes]) for image, first, second, votes in ROWS]
    for one, other in zip(judge_wins(counted(ROWS)), judge_wins(counted(swapped)), strict=True):
        assert {name: row.interval for name, row in one.rows.items()} == {
            name: row.interval for name, row in other.rows.items()
        }


def test_neighbors_are_compared_on_the_same_images() -> None:
    wins, _ = judge_wins(counted(ROWS))
    first, second = wins.differences()
    assert (first.system, first.next, second.system, second.next) == ("a", "b", "b", "c")
    assert first.difference == pytest.approx(0.45)
    assert first.p_value < 0.05 <= second.p_value


def test_triplets_count_by_their_majority_and_people_have_the_rows_of_other_questions() -> None:
    pairs = (
        pair(1, "human", "other", "HI"),
        pair(2, "other", "human", "HI"),
        pair(3, "human", "human", "HC"),
    )
    triplets = tuple(
        Triplet(
            pair=number,
            reference=f"reference {reference}",
            left=pairs[number].first,
            right=pairs[number].second,
            on_the_left="first",
            judgments=2,
        )
        for number in range(3)
        for reference in range(3)
    )
    answers = [[1, 1], [1, 1], [-1, -1], [-1, -1], [-1, 1], [-1, -1], [1, 1], [1, 1], [1, 1]]
    wins, strength = judge_wins(
        count_votes(Plan(pairs=pairs, triplets=triplets), answers), JudgingOptions(samples=100)
    )
    assert {name: row.interval.score for name, row in wins.rows.items()} == {"Human": 1, "Random": 0}
    # The pair of two people's captions is about no two systems: its six answers are not among these.
    assert wins.rows["Human"].votes == 12
    assert strength.rows["Human"].interval.score == pytest.approx(np.log(2.5 / 0.5) / 2)


def test_people_are_one_row_however_they_are_called() -> None:
    rows = [(image, people, "a", [1, -1, -1]) for image in range(6) for people in ("human", "Human")]
    same = [(image, "human", "Human", [1]) for image in range(6)]
    wins, _ = judge_wins(counted([*rows, *same]), JudgingOptions(samples=20))
    assert {name: row.votes for name, row in wins.rows.items()} == {"a": 36, "Human": 36}
    assert wins.rows["a"].interval.score == 1


def test_systems_that_never_met_have_fractions_alone() -> None:
    rows = [(image, *names, [1, 1, -1]) for image in range(9) for names in (("a", "b"), ("c", "d"))]
    (wins,) = judge_wins(counted(rows), JudgingOptions(samples=20))
    assert wins.question.name == "wins"


def test_what_has_no_fractions_says_why() -> None:
    same = count_pair_votes([pair(1, "human", "human", "HC")], [[1]])
    with pytest.raises(MismatchError, match="only pairs by the same writer"):
        judge_wins(same)
    nameless = count_pair_votes([pair(1, "ours", None)], [[1]])
    with pytest.raises(MismatchError, match="the writers of both captions"):
        judge_wins(nameless)
    few = [(1, "a", "b", [1]), (2, "c", "b", [1])]
    with pytest.raises(MismatchError, match="2 images are too few"):
        judge_wins(counted(few))
