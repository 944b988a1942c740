"""Votes on a plan: counting, stopping when a question is decided, and a simulated electorate."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from capeval.data.captions import ImageId
from capeval.errors import MismatchError, OptionError
from capeval.formats.judgments.plans import (
    Pair,
    Plan,
    Triplet,
    get_plan_paths,
    load_pair_votes,
    load_plan,
    load_votes,
    write_plan,
)
from capeval.studies.consensus import ConsensusOptions, study_plan, with_references
from capeval.studies.plan import PlanOptions, plan_study
from capeval.studies.shared.pair_scores import PairScorer
from capeval.studies.votes import (
    count_pair_votes,
    count_votes,
    is_confident,
    is_decided,
    posterior,
    votes_until_confident,
    votes_until_decided,
)

WORDS = ("dog", "cat", "bus", "boat", "horse", "kite", "cake", "train")
CAPTIONS: dict[ImageId, list[str]] = {
    number: [
        f"a {word} in a field",
        f"one {word} stands on the green grass",
        f"the {word} is out in a field of grass",
        f"a large {word} on grass",
        f"there stands a {word}",
        f"this {word} looks lonely in its field",
    ]
    for number, word in enumerate(WORDS)
}
MACHINES: dict[str, dict[ImageId, str]] = {
    "good": {number: f"a {word} standing in a field" for number, word in enumerate(WORDS)},
    "poor": {number: f"a {word}" for number, word in enumerate(WORDS)},
    "blind": dict.fromkeys(range(len(WORDS)), "a man with a hat"),
}


def test_a_question_is_decided_when_further_votes_change_nothing() -> None:
    assert [is_decided([1] * count, 11) for count in (5, 6)] == [False, True]
    assert is_decided([1, 1, 0], 4)
    assert not is_decided([1, 0, 0], 4)
    assert is_decided([1, -1], 2)
    assert not is_decided([], 1)
    assert votes_until_decided([1, -1, *[1] * 9], 11) == 7
    assert votes_until_decided([1, -1, 1], 3) == 3
    assert votes_until_decided([1, -1], 11) == 2
    with pytest.raises(OptionError, match="'planned' must be an integer of at least 1"):
        votes_until_decided([1], 0)


def test_stopping_early_changes_no_winner() -> None:
    rng = np.random.default_rng(4)
    for _ in range(500):
        planned = int(rng.integers(1, 14))
        votes = rng.choice([-1, 0, 1], planned).tolist()
        stopped = votes[: votes_until_decided(votes, planned)]
        assert np.sign(sum(stopped)) == np.sign(sum(votes))


@pytest.mark.parametrize(("first", "second"), [(0, 0), (5, 0), (0, 5), (4, 1), (17, 9), (300, 260), (9, 700)])
def test_the_posterior_is_the_part_of_a_beta_distribution_above_a_half(first: int, second: int) -> None:
    parts = np.linspace(0, 1, 200_001)[1:-1]
    logs = first * np.log(parts) + second * np.log1p(-parts)
    density = np.exp(logs - logs.max())
    assert posterior(first, second) == pytest.approx(
        density[parts > 0.5].sum() / density.sum(), rel=1e-3, abs=1e-9
    )
    assert posterior(first, second) + posterior(second, first) == pytest.approx(1)


def test_votes_stop_once_a_winner_is_likely() -> None:
    assert (posterior(5, 0), posterior(4, 1)) == (63 / 64, 57 / 64)
    assert is_confident([-1] * 5)
    assert not is_confident([1] * 4)
    assert is_confident([1] * 4, least=4)
    assert not is_confident([1, 1, 1, 1, 0, 0])
    assert not is_confident([1, 1, 1, 1, -1])
    assert is_confident([1, 1, 1, 1, -1], level=57 / 64)
    assert votes_until_confident([1, -1, *[1] * 10]) == 7
    assert votes_until_confident([1, -1] * 10) == 20
    assert votes_until_confident([]) == 0
    with pytest.raises(OptionError, match=r"'level' must be a number from 0.55 to 0.9999 \(got 1\)"):
        is_confident([1], level=1)
    with pytest.raises(OptionError, match="'least' must be an integer of at least 1"):
        is_confident([1], least=0)


def test_a_triplet_whose_majority_is_certain_is_complete() -> None:
    pair = Pair(image=1, kind="HC", first="a dog", second="the dog", first_by="human", second_by="human")
    triplet = Triplet(pair=0, reference="a", left="a dog", right="the dog", on_the_left="first", judgments=3)
    plan = Plan(pairs=(pair,), triplets=(triplet,) * 3)
    counted = count_votes(plan, [(1, 1), (-1, 1), ()], complete_only=True)
    assert [each.question for each in counted.incomplete] == [1, 2]
    assert counted.pairs[0].votes == (1,)


def test_a_triplet_without_answers_is_incomplete_however_many_were_planned() -> None:
    pair = Pair(image=1, first="a dog", second="the dog")
    asked = Triplet(pair=0, reference="a", left="a dog", right="the dog", on_the_left="first", judgments=1)
    plan = Plan(pairs=(pair,), triplets=(asked, replace(asked, judgments=0)))
    counted = count_votes(plan, [(1,), ()], complete_only=True)
    assert [each.question for each in counted.incomplete] == [1]
    with pytest.raises(MismatchError, match="got none for triplet 1"):
        count_votes(plan, [(1,), ()])


def test_equal_counts_for_neither() -> None:
    pair = Pair(image=1, kind="HC", first="a dog", second="the dog", first_by="human", second_by="human")
    counted = count_pair_votes([pair, pair, pair], [(1, 0, 0), (0, 0), (1, -1, -1)])
    assert counted.winners.tolist() == [1, 0, -1]
    assert counted.agreement["all"].tied_pairs == 1
    assert (counted.wins[0].a_wins, counted.wins[0].b_wins, counted.wins[0].ties) == (1, 1, 1)


def test_wrong_votes_are_named() -> None:
    pair = Pair(image=1, first="a dog", second="the dog")
    with pytest.raises(MismatchError, match=r"answers to each of 1 pairs \(got 2\)"):
        count_pair_votes([pair], [(1,), (1,)])
    with pytest.raises(MismatchError, match=r"answers to each of 0 triplets \(got 1\)"):
        count_votes(Plan(pairs=(pair,), triplets=()), [(1,)])
    with pytest.raises(OptionError, match="'judgments' must be an integer of at least 1"):
        count_pair_votes([pair], [(1,)], judgments=0)
    silent = [()] * 12
    with pytest.raises(MismatchError, match="got none for pairs 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"):
        count_pair_votes([pair] * 12, silent)
    with pytest.raises(OptionError, match="votes on triplets, or votes on pairs with references"):
        study_plan(None, count_pair_votes([pair], [(1,)]), ConsensusOptions())


def planned(folder: Path) -> Plan:
    """A plan that was written and read again."""
    counts = {"HC": 12, "HI": 12, "HM": 12, "MM": 12}
    write_plan(plan_study(CAPTIONS, MACHINES, counts, PlanOptions(judgments=3, seed=5)), folder)
    return load_plan(*get_plan_paths(folder))


def electorate(plan: Plan, wanted: Callable[[int], int], folder: Path) -> Path:
    """Write votes for a known candidate of each pair, with one dissenter among three voters."""
    path = folder / "votes.csv"
    rng = np.random.default_rng(9)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("triplet", "choice", "worker", "mirrored"))
        for number, triplet in enumerate(plan.triplets):
            first = wanted(triplet.pair) == 1
            for worker in rng.permutation(3).tolist():
                chosen = first if worker else not first
                left = chosen == (triplet.on_the_left == "first")
                writer.writerow((number, "left" if left else "right", worker, int(rng.integers(2))))
    return path


def test_a_simulated_electorate_gives_the_known_winners(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    order = {"human": 4, "good": 3, "poor": 2, "blind": 1, "other": 0}

    def better(number: int) -> int:
        pair = plan.pairs[number]
        # Between two people's captions the voters want the longer, and the first of equally long ones.
        difference = order[pair.first_by or ""] - order[pair.second_by or ""]
        return 1 if (difference or len(pair.first) - len(pair.second)) >= 0 else -1

    counted = count_votes(plan, load_votes(electorate(plan, better, tmp_path), plan))
    assert counted.winners.tolist() == [better(number) for number in range(len(plan.pairs))]
    assert counted.incomplete == ()
    wins = {(each.a, each.b): (each.a_wins, each.b_wins) for each in counted.wins if each.kind == "MM"}
    assert wins == {("blind", "good"): (0, 4), ("good", "poor"): (4, 0), ("blind", "poor"): (0, 4)}
    # Two of three agree on each triplet; each has votes for both, so agreement is below chance.
    assert counted.agreement["all"].questions == len(plan.triplets)
    assert counted.agreement["all"].answers == 3 * len(plan.triplets)
    assert counted.agreement["all"].alpha is not None


def test_a_simulated_electorate_gives_the_known_accuracies(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    everyone = count_votes(plan, [(1, 1, 1)] * len(plan.triplets))
    differences = PairScorer(everyone.pairs).differences()["CIDEr-2015"]
    # The voters agree with CIDEr on pairs of HC, HI and HM, and disagree on pairs of MM.
    signs = np.where(differences == 0, 1, np.sign(differences))

    def by_cider(number: int) -> int:
        return int(-signs[number] if plan.pairs[number].kind == "MM" else signs[number])

    counted = count_votes(plan, load_votes(electorate(plan, by_cider, tmp_path), plan))
    study = study_plan(counted, None, ConsensusOptions(counts=(1, 4), draws=2, ties="first"))
    found = {kind: each.value for kind, each in study.accuracy["consensus"]["CIDEr-2015"].items()}
    assert found == {"HC": 1.0, "HI": 1.0, "HM": 1.0, "MM": 0.0, "all": 0.75}
    # The voters prefer the same candidate of a pair for every reference: any half predicts the other.
    assert study.human["Humans"].mean == 1.0
    # With all four references nothing is drawn, so the curve ends at the accuracy.
    assert study.by_references["all"]["CIDEr-2015"][1].mean == 0.75
    assert study.wins["CIDEr-2015"].fractions["good"] == 1 - study.wins["consensus"].fractions["good"]
    correlation = study.wins["CIDEr-2015"].correlation
    assert correlation is not None
    assert correlation.score == pytest.approx(-1)
    assert study.agreement == {}
    assert study.dataset is None


def test_both_kinds_of_votes_are_compared(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    triplets = count_votes(plan, [(1,) if t.pair % 2 else (-1,) for t in plan.triplets])
    path = tmp_path / "pair_votes.csv"
    path.write_text("pair,choice\n" + "".join(f"{n},first\n" * 3 for n in range(len(plan.pairs) - 1)))
    pairwise = count_pair_votes(plan.pairs, load_pair_votes(path, plan.pairs), complete_only=True)
    study = study_plan(triplets, pairwise, ConsensusOptions(draws=1), references=CAPTIONS)
    # The last pair has no pairwise votes, and is left out of both.
    assert study.accuracy["consensus"]["CIDEr-2015"]["all"].pairs == len(plan.pairs) - 1
    assert study.agreement["HC"].same.value == 0.5
    assert study.agreement["all"].alpha is None
    assert list(study.accuracy) == ["consensus", "pairwise"]


def test_captions_that_are_compared_are_no_references() -> None:
    pairs = (
        Pair(image=1, first="a dog", second="the dog"),
        Pair(image=1, first="a dog", second="a cat"),
        Pair(image=2, first="a dog", second="the dog"),
    )
    found = with_references(pairs, {1: ["a dog", "a cat", "dogs", "the dog"], 2: ["a cat", "a dog"]})
    assert [pair.references for pair in found] == [("dogs",), ("dogs",), ("a cat",)]
    with pytest.raises(MismatchError, match=r"2 images \(1, 2\) are without a reference"):
        with_references(pairs, {1: ["a dog"]})
