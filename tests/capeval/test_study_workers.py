"""Worker models compared with crowd-kit and choix, and worker statistics from answers."""

import json
from pathlib import Path

import numpy as np
import pytest

from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.studies.judging.bradley_terry import fit_bradley_terry, is_connected
from capeval.studies.judging.worker_models import Answers, fit_dawid_skene, fit_mace, gather_answers
from capeval.studies.judging.workers import binomial_p, compute_worker_rows, count_agreements

# Recorded outputs of crowd-kit 1.4.2 (pandas 2.3.3, numpy 2.4.6) and choix 0.4.1, by the calls in "made_by".
GOLDEN = json.loads((Path(__file__).parent / "worker_models.json").read_text(encoding="utf-8"))


def by_name(answers: Answers, table: FloatArray) -> FloatArray:
    """Rows by question and columns by choice, in the order of their names."""
    rows = sorted(range(len(answers.questions)), key=lambda place: int(str(answers.questions[place])))
    columns = sorted(range(len(answers.choices)), key=lambda place: str(answers.choices[place]))
    return table[np.ix_(rows, columns)]


def by_worker(answers: Answers, numbers: FloatArray) -> FloatArray:
    return numbers[sorted(range(len(answers.workers)), key=lambda place: answers.workers[place])]


@pytest.mark.parametrize("case", GOLDEN["cases"])
def test_worker_models_are_those_of_crowd_kit(case: dict[str, list[list[object]]]) -> None:
    answers = gather_answers((row[0], str(row[1]), row[2]) for row in case["rows"])
    full = fit_dawid_skene(answers)
    assert by_name(answers, full.truth) == pytest.approx(np.array(case["dawid_skene"]), abs=1e-6)
    one = fit_dawid_skene(answers, one_coin=True)
    assert by_name(answers, one.truth) == pytest.approx(np.array(case["one_coin"]), abs=1e-6)
    assert by_worker(answers, one.skill) == pytest.approx(np.array(case["one_coin_skill"]), abs=1e-6)
    found = fit_mace(answers)
    assert by_name(answers, found.truth) == pytest.approx(np.array(case["mace"]), abs=1e-6)
    assert by_worker(answers, found.competence) == pytest.approx(np.array(case["mace_competence"]), abs=1e-6)


@pytest.mark.parametrize("case", GOLDEN["bradley_terry"])
def test_strengths_are_those_of_choix_and_crowd_kit(case: dict[str, list[float]]) -> None:
    strengths = fit_bradley_terry(np.array(case["wins"]))
    assert strengths == pytest.approx(np.array(case["choix"]), abs=1e-6)
    assert strengths == pytest.approx(np.array(case["crowdkit"]), abs=1e-6)
    assert strengths.mean() == pytest.approx(0, abs=1e-12)


def test_the_odds_of_two_systems_are_their_wins() -> None:
    assert fit_bradley_terry(np.array([[0, 3], [1, 0]])) == pytest.approx([np.log(3) / 2, -np.log(3) / 2])
    # One win of 10,000 makes Newton's first steps too long.
    extreme = np.array([[0, 9999, 1], [1, 0, 1], [1, 1, 0]])
    assert np.isfinite(fit_bradley_terry(extreme)).all()


def test_strengths_need_wins_against_each_other() -> None:
    never = np.array([[0.0, 3], [0, 0]])
    assert not is_connected(never)
    assert is_connected(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    with pytest.raises(MismatchError, match="some systems never win against the others"):
        fit_bradley_terry(never)
    with pytest.raises(MismatchError, match="square table of numbers of at least 0"):
        fit_bradley_terry(np.array([[0, -1], [1, 0]]))


def test_wrong_answers_are_named() -> None:
    with pytest.raises(MismatchError, match=r"answer a question once \(got two answers to 1 by 'a'\)"):
        gather_answers([(1, "a", "x"), (1, "a", "y")])
    with pytest.raises(MismatchError, match="at least one answer"):
        gather_answers([])
    alike = gather_answers([(1, "a", "x"), (2, "a", "x")])
    for model in (fit_dawid_skene, fit_mace):
        with pytest.raises(MismatchError, match=r"at least two choices \(got 1\)"):
            model(alike)


def electorate(seed: int, *, votes: int, honest: int, spammers: int) -> Answers:
    """Simulate answers to binary questions, three workers per question, `votes` answers per worker."""
    rng = np.random.default_rng(seed)
    workers = honest + spammers
    questions = workers * votes // 3
    # Shuffled rounds give every worker as many questions, three different workers to each.
    order = np.concatenate([rng.permutation(workers) for _ in range(votes)])
    skill = rng.uniform(0.85, 0.95, honest)
    rows = []
    for question in range(questions):
        truth = int(rng.integers(2))
        for worker in dict.fromkeys(order[3 * question : 3 * question + 3].tolist()):
            chosen = truth if worker < honest and rng.random() < skill[worker] else None
            if chosen is None:
                chosen = 1 - truth if worker < honest else int(rng.integers(2))
            rows.append((question, str(worker), chosen))
    return gather_answers(rows)


def test_one_spammer_in_four_is_found_within_40_votes() -> None:
    honest, found = [], []
    for seed in range(40):
        answers = electorate(seed, votes=40, honest=18, spammers=6)
        skill = dict(zip(answers.workers, fit_dawid_skene(answers, one_coin=True).skill, strict=True))
        honest += [skill[str(worker)] for worker in range(18)]
        found += [skill[str(worker)] for worker in range(18, 24)]
    # The limit that calls one honest worker in a hundred a spammer.
    limit = np.quantile(honest, 0.01)
    assert np.mean(np.array(found) < limit) > 0.97


def test_workers_are_compared_with_the_others() -> None:
    answers = gather_answers(
        [
            *((1, worker, "x") for worker in "abc"),
            *((2, worker, choice) for worker, choice in zip("abc", "xxy", strict=True)),
            *((3, worker, choice) for worker, choice in zip("ab", "xy", strict=True)),
            (4, "a", "y"),
        ]
    )
    agreed, asked = count_agreements(answers)
    # For question 2, the other workers of a are b (x) and c (y): tied. Only a answered question 4.
    assert dict(zip(answers.workers, zip(agreed.tolist(), asked.tolist(), strict=True), strict=True)) == {
        "a": (1, 2),
        "b": (1, 2),
        "c": (1, 2),
    }


@pytest.mark.parametrize(
    ("successes", "count", "p_value"),
    # R 4.3: binom.test(x, n)$p.value.
    [(5, 10, 1.0), (9, 10, 0.021484375), (0, 10, 0.001953125), (60, 100, 0.05688793), (0, 0, 1.0)],
)
def test_side_bias_has_an_exact_test(successes: int, count: int, p_value: float) -> None:
    assert binomial_p(successes, count) == pytest.approx(p_value, rel=1e-6)
    assert binomial_p(count - successes, count) == pytest.approx(p_value, rel=1e-6)


def test_rows_have_raw_counts_beside_models() -> None:
    answers = electorate(1, votes=30, honest=9, spammers=3)
    spammers = np.array([int(worker) >= 9 for worker in answers.workers])[answers.worker]
    rows = compute_worker_rows(
        answers,
        left=[bool(spammer) or place % 2 == 0 for place, spammer in enumerate(spammers)],
        seconds=np.where(spammers, 2.0, 8.0).tolist(),
        checks={"0": [True] * 9 + [False], "9": [False]},
    )
    by = {row.worker: row for row in rows}
    assert (by["0"].checks.value, by["0"].checks.count, by["1"].checks.value) == (0.9, 10, None)
    assert by["9"].left.value == 1
    assert by["9"].left_p is not None
    assert by["9"].left_p < 1e-6
    assert (by["9"].speed, by["0"].speed) == (0.25, 1)
    assert by["0"].skill.value is not None
    assert by["9"].skill.value is not None
    assert by["9"].skill.value < by["0"].skill.value
    assert by["0"].skill.count == by["0"].answers
    with pytest.raises(MismatchError, match=r"a side for each of \d+ answers"):
        compute_worker_rows(answers, left=[True])
    assert compute_worker_rows(answers)[0].left_p is None
