"""Adaptive sampling: choice of the next pair of systems from their estimated strengths."""

import numpy as np
import pytest

from capeval._internal.random import make_generator
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, OptionError
from capeval.studies.judging.bradley_terry import compute_difference_errors, fit_bradley_terry
from capeval.studies.judging.next_pairs import compute_next_shares, draw_next_counts

PAIRS = [(one, other) for one in range(4) for other in range(one + 1, 4)]


def played(strengths: FloatArray, games: FloatArray, seed: int) -> FloatArray:
    """Simulate the wins of systems with these strengths in the given numbers of games."""
    rng = make_generator(seed)
    wins = np.zeros((len(strengths), len(strengths)))
    for one, other in PAIRS:
        likely = 1 / (1 + np.exp(strengths[other] - strengths[one]))
        won = rng.binomial(int(games[one, other]), likely)
        wins[one, other], wins[other, one] = won, games[one, other] - won
    return wins


def test_standard_errors_are_those_of_a_simulation() -> None:
    strengths = np.array([1.0, 0.4, -0.2, -1.2])
    games = np.array([[0, 300, 60, 40], [300, 0, 50, 200], [60, 50, 0, 90], [40, 200, 90, 0]], float)
    made = np.array([fit_bradley_terry(played(strengths, games, seed)) for seed in range(400)])
    differences = made[:, :, None] - made[:, None, :]
    wins = played(strengths, games, 1000)
    expected = compute_difference_errors(wins, fit_bradley_terry(wins))
    assert np.diag(expected) == pytest.approx(0)
    assert expected == pytest.approx(differences.std(axis=0), rel=0.15, abs=1e-9)
    # For only two systems, it is the known formula.
    wins = np.array([[0.0, 30.0], [10.0, 0.0]])
    assert compute_difference_errors(wins, fit_bradley_terry(wins))[0, 1] == pytest.approx(
        np.sqrt(1 / 30 + 1 / 10)
    )
    with pytest.raises(MismatchError, match="never win against the others"):
        fit_bradley_terry(np.array([[0.0, 3.0], [0.0, 0.0]]))


def test_shares_are_larger_where_the_order_is_less_certain() -> None:
    games = 40 * (np.ones((4, 4)) - np.eye(4))
    wins = played(np.array([2.0, 0.1, 0.0, -2.0]), games, 1)
    shares = dict(zip(PAIRS, compute_next_shares(wins, PAIRS, floor=0.2).tolist(), strict=True))
    assert sum(shares.values()) == pytest.approx(1)
    assert max(shares, key=shares.__getitem__) == (1, 2)
    assert shares[1, 2] > 0.7
    assert min(shares.values()) >= 0.2 / 6
    assert shares[0, 3] == pytest.approx(0.2 / 6, abs=1e-3)


def test_nothing_known_is_the_same_for_all() -> None:
    assert compute_next_shares(np.zeros((4, 4)), PAIRS) == pytest.approx([1 / 6] * 6)
    # Systems that are not connected have no strengths.
    assert compute_next_shares(np.zeros((4, 4)), [(0, 1), (2, 3)]) == pytest.approx([0.5, 0.5])
    # Pairs of captions from one system carry no information about strengths.
    shares = compute_next_shares(np.zeros((2, 2)), [(0, 0), (0, 1)], floor=0.2)
    assert shares == pytest.approx([0.1, 0.9])
    assert compute_next_shares(np.zeros((2, 2)), [(0, 0), (1, 1)]) == pytest.approx([0.5, 0.5])


def test_pairs_without_comparisons_left_get_none() -> None:
    left = [False, True, True, False, False, False]
    assert compute_next_shares(np.zeros((4, 4)), PAIRS, going_on=left) == pytest.approx(
        [0, 0.5, 0.5, 0, 0, 0]
    )
    assert compute_next_shares(np.zeros((4, 4)), PAIRS, going_on=[False] * 6).sum() == 0
    with pytest.raises(OptionError, match="'floor' must be a number from 0 to 1"):
        compute_next_shares(np.zeros((4, 4)), PAIRS, floor=2)


def test_numbers_are_shares_rounded_by_a_draw() -> None:
    shares = np.array([0.5, 0.31, 0.09, 0.1])
    drawn = np.array([draw_next_counts(shares, 20, seed=3, choice=choice) for choice in range(500)])
    assert (drawn.sum(axis=1) == 20).all()
    assert (drawn >= np.floor(20 * shares)).all()
    assert (drawn <= np.ceil(20 * shares)).all()
    assert drawn.mean(axis=0) == pytest.approx(20 * shares, abs=0.1)
    assert draw_next_counts(shares, 20, seed=3, choice=7) == drawn[7].tolist()
    # If no pair is open, there is nothing to compare.
    assert draw_next_counts(np.zeros(2), 20, seed=3, choice=7) == [0, 0]
    assert draw_next_counts(np.zeros(0), 20, seed=3, choice=7) == []
    with pytest.raises(OptionError, match="'number' must be an integer of at least 1"):
        draw_next_counts(shares, 0, seed=0, choice=1)


def adaptive(truth: FloatArray, seed: int, choices: int, at_once: int, floor: float) -> FloatArray:
    """The wins of a campaign that chooses: `floor` of 1 for evenly."""
    rng = make_generator(seed, 99)
    wins = np.zeros((4, 4))
    for choice in range(choices):
        shares = compute_next_shares(wins, PAIRS, floor=floor)
        for (one, other), number in zip(
            PAIRS, draw_next_counts(shares, at_once, seed=seed, choice=choice), strict=True
        ):
            won = rng.binomial(number, 1 / (1 + np.exp(truth[other] - truth[one])))
            wins[one, other] += won
            wins[other, one] += number - won
    return wins


def test_strengths_stay_right_and_close_systems_are_told_apart_more_often() -> None:
    truth = np.array([1.6, 0.2, -0.2, -1.6])
    right, strengths, fractions = {}, {}, {}
    for floor in (0.2, 1.0):
        tables = [adaptive(truth, seed, 20, 30, floor) for seed in range(150)]
        made = np.array([fit_bradley_terry(table) for table in tables])
        right[floor] = float((made[:, 1] > made[:, 2]).mean())
        strengths[floor] = made.mean(axis=0)
        fractions[floor] = np.mean([t.sum(axis=1) / (t + t.T).sum(axis=1) for t in tables], axis=0)
    # 600 comparisons: the two in the middle are distinguished more often than with even sampling.
    assert right[0.2] > right[1.0]
    assert strengths[0.2] == pytest.approx(truth, abs=0.12)
    assert strengths[1.0] == pytest.approx(truth, abs=0.12)
    # Fractions of wins are others, as each system met others.
    assert abs(fractions[0.2] - fractions[1.0]).max() > 0.015
