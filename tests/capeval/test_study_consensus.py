"""The consensus protocol: plans, votes, winners, agreement, and metrics against them."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from capeval import Bleu, Cider2015, Tokenizer
from capeval.data.captions import ImageId
from capeval.datasets.pascal50s import load_pascal_pairs, load_pascal_preferences, load_triplets
from capeval.errors import FormatError, MismatchError, OptionError
from capeval.formats.judgments.plans import Pair, Plan, get_plan_paths, load_plan, write_plan
from capeval.metrics.rouge import RougeN
from capeval.scoring.intervals import wilson_interval
from capeval.studies.consensus import (
    ConsensusOptions,
    accuracy_by_references,
    fraction_of_wins,
    judged_twice,
    pearson,
    split_half,
)
from capeval.studies.consensus.abstract50s import classify_pairs
from capeval.studies.plan import PlanOptions, majority, plan_pairs, plan_triplets, winners
from capeval.studies.shared.accuracy import accuracy, combine_draws, compute_accuracy_by_class
from capeval.studies.shared.checkpoints import StudyCheckpoint
from capeval.studies.shared.pair_scores import PairScorer
from capeval.studies.shared.ties import HumanTies, TieRules, Ties
from capeval.studies.shared.words import ComparedMetric, add_document_frequencies, stem_texts

HUMAN: dict[ImageId, list[str]] = {i: [f"a dog {i}", f"the dog {i}", f"one dog {i}"] for i in range(6)}
MACHINES: dict[str, dict[ImageId, str]] = {
    name: {i: f"{name} says {i}" for i in range(6)} for name in ("one", "two", "three")
}


def candidates(pair: Pair) -> tuple[str, str]:
    return pair.first, pair.second


def writers(pair: Pair) -> tuple[str, str]:
    assert pair.first_by is not None
    assert pair.second_by is not None
    return pair.first_by, pair.second_by


def test_pairs_of_each_class_are_what_they_say() -> None:
    pairs = plan_pairs(HUMAN, MACHINES, {"HC": 12, "HI": 12, "HM": 12, "MM": 12}, seed=3)
    assert Counter(pair.kind for pair in pairs) == {"HC": 12, "HI": 12, "HM": 12, "MM": 12}
    for pair in pairs:
        correct = [text in HUMAN[pair.image] for text in candidates(pair)]
        said = [text in {m[pair.image] for m in MACHINES.values()} for text in candidates(pair)]
        assert pair.first != pair.second
        assert {
            "HC": correct == [True, True],
            "HI": sum(correct) == 1 and sum(said) == 0 and "other" in writers(pair),
            "HM": sum(correct) == 1 and sum(said) == 1,
            "MM": said == [True, True],
        }[str(pair.kind)]
    # Machines meet equally often, and each class uses every image before one twice more.
    meetings = Counter(frozenset(writers(pair)) for pair in pairs if pair.kind == "MM")
    assert set(meetings.values()) == {4}
    assert Counter(name for p in pairs if p.kind == "HM" for name in writers(p) if name != "human") == {
        "one": 4,
        "two": 4,
        "three": 4,
    }
    assert set(Counter(pair.image for pair in pairs if pair.kind == "HC").values()) == {2}


def test_plans_are_of_their_seed_alone() -> None:
    counts = {"HC": 5, "HM": 5}
    assert plan_pairs(HUMAN, MACHINES, counts, seed=1) == plan_pairs(HUMAN, MACHINES, counts, seed=1)
    assert plan_pairs(HUMAN, MACHINES, counts, seed=1) != plan_pairs(HUMAN, MACHINES, counts, seed=2)
    # The pairs of one class do not depend on the other classes in the plan.
    alone = plan_pairs(HUMAN, MACHINES, {"HM": 5}, seed=1)
    assert plan_pairs(HUMAN, MACHINES, counts, seed=1)[5:] == alone


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("HC", "two different human captions"),
        ("HI", "two images"),
        ("HM", "a machine"),
        ("MM", "two machines"),
    ],
)
def test_pairs_need_captions(kind: str, message: str) -> None:
    with pytest.raises(MismatchError, match=message):
        plan_pairs({1: ["a dog"]}, {}, {kind: 1}, seed=0)


def test_the_captions_of_a_pair_differ() -> None:
    people: dict[ImageId, list[str]] = {
        1: ["A dog.", "a  dog", "the dog"],
        2: ["a dog", "a cat"],
        3: ["a dog"],
    }
    machines: dict[str, dict[ImageId, str]] = {
        "one": {1: "a dog", 2: "a cat .", 3: "A dog"},
        "two": {1: "a dog.", 2: "one cat", 3: "a Dog"},
    }
    pairs = plan_pairs(people, machines, {"HC": 20, "HI": 20, "HM": 20, "MM": 5}, seed=1)
    for pair in pairs:
        first, second = (text.lower().replace(".", "").split() for text in candidates(pair))
        assert first != second
    assert {pair.image for pair in pairs if pair.kind == "MM"} == {2}
    with pytest.raises(MismatchError, match="HC need an image with two different human captions"):
        plan_pairs({1: ["A dog.", "a dog"]}, {}, {"HC": 1}, seed=0)
    with pytest.raises(MismatchError, match="HI need captions of other images that differ from 'a dog'"):
        plan_pairs({1: ["a dog"], 2: ["a dog"]}, {}, {"HI": 1}, seed=0)


def test_counts_of_pairs_are_checked() -> None:
    with pytest.raises(OptionError, match="classes of 'counts' must be among HC"):
        plan_pairs(HUMAN, MACHINES, {"XX": 1}, seed=0)
    with pytest.raises(OptionError, match="at least 0"):
        plan_pairs(HUMAN, MACHINES, {"HC": -1}, seed=0)
    with pytest.raises(OptionError, match="must not be one of human, other"):
        plan_pairs(HUMAN, {"other": {}}, {"HC": 1}, seed=0)


def test_triplets_have_every_reference_and_balanced_sides() -> None:
    pairs = plan_pairs(HUMAN, MACHINES, {"MM": 4}, seed=0)
    references: dict[ImageId, list[str]] = {i: [f"reference {n}" for n in range(8)] for i in range(6)}
    triplets = plan_triplets(pairs, references, PlanOptions(seed=5))
    assert len(triplets) == 4 * 8
    for place, pair in enumerate(pairs):
        mine = [triplet for triplet in triplets if triplet.pair == place]
        assert {triplet.reference for triplet in mine} == set(references[pair.image])
        assert sum(triplet.on_the_left == "second" for triplet in mine) == 4
        for triplet in mine:
            first_left = triplet.on_the_left == "first"
            shown = (triplet.left, triplet.right) if first_left else (triplet.right, triplet.left)
            assert shown == candidates(pair)
            assert triplet.judgments == 3
    assert plan_triplets(pairs, references, PlanOptions(seed=5)) == triplets
    assert len(plan_triplets(pairs, references, PlanOptions(per_pair=3, judgments=1))) == 12


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    pairs = (
        *plan_pairs(HUMAN, MACHINES, {"HC": 2, "MM": 2}, seed=0),
        Pair(image=7, kind="HI", first="=1+1", second='\'-"a",\nb', first_by="human", second_by="other"),
    )
    described: dict[ImageId, list[str]] = {i: [f"+{i}", "a caf\u00e9\r"] for i in range(8)}
    plan = Plan(pairs=pairs, triplets=plan_triplets(pairs, described, PlanOptions(seed=1)))
    written = write_plan(plan, tmp_path)
    assert [path.name for path in written] == ["pairs.csv", "triplets.csv"]
    # No spreadsheet runs a caption as a formula.
    assert '"=1+1"' not in written[0].read_text(encoding="utf-8")
    assert load_plan(*written) == load_plan(*(path.read_bytes() for path in written)) == plan
    named = Plan(pairs=(replace(pairs[0], image="x.jpg"), pairs[1]), triplets=())
    write_plan(named, tmp_path)
    assert [pair.image for pair in load_plan(*get_plan_paths(tmp_path)).pairs] == [
        "x.jpg",
        str(pairs[1].image),
    ]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("pairs.csv", "\n0,", "\n1,", r"pairs\.csv: line 2: 'pair' must be the number of a pair .* .got '1'"),
        ("pairs.csv", '"first_by"', '"by"', "must contain the column 'first_by'"),
        ("triplets.csv", '"first",3', '"left",3', "must be first or second .got 'left'"),
        ("triplets.csv", ",3\n", ",few\n", "'judgments' must be a nonnegative integer .got 'few'"),
        ("triplets.csv", "\n0,0,", "\n0,9,", "'pair' must be the number of a pair in the plan .got '9'"),
        ("triplets.csv", "\n0,0,", "\n4,0,", "'triplet' must be the number of a triplet .* .got '4'"),
    ],
)
def test_a_plan_that_was_changed_is_refused(
    tmp_path: Path, name: str, old: str, new: str, message: str
) -> None:
    pairs = plan_pairs(HUMAN, MACHINES, {"HC": 1}, seed=0)
    triplets = plan_triplets(pairs, {i: ["a thing", "things"] for i in range(6)})
    write_plan(Plan(pairs=pairs, triplets=triplets), tmp_path)
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FormatError, match=message):
        load_plan(*get_plan_paths(tmp_path))


def test_triplets_need_references() -> None:
    pair = Pair(image=1, kind="HC", first="a", second="b", first_by="human", second_by="human")
    with pytest.raises(MismatchError, match="image 1 must have at least 3 references"):
        plan_triplets([pair], {1: ["a", "b"]}, PlanOptions(per_pair=3))
    with pytest.raises(MismatchError, match="image 1 must have at least 1 references"):
        plan_triplets([pair], {})


def test_votes_become_winners() -> None:
    assert majority([[1, 1, -1], [-1, -1, 1], [1, -1, 0]]).tolist() == [1, -1, 0]
    assert winners([[1, 1, -1], [-1], [1, -1]]).tolist() == [1, -1, 0]
    with pytest.raises(MismatchError, match="question 1"):
        majority([[1, 1], [0, 0]])
    with pytest.raises(MismatchError, match="must be 1, -1 or 0"):
        majority([[2, 1]])
    with pytest.raises(MismatchError, match="none for pair 1"):
        winners([[1], []])


# The metric is right, wrong, tied (twice), right, and right or tied without a human winner.
PREDICTED = np.array([0.5, -0.1, 0.0, 0.0, -0.2, 0.2, 0.0])
PEOPLE = np.array([1, 1, 1, -1, -1, 0, 0])


@pytest.mark.parametrize(
    ("ties", "human_ties", "value", "from_ties", "pairs", "tied"),
    [
        ("wrong", "exclude", 2 / 5, 0, 5, 2),
        ("half", "exclude", 3 / 5, 1 / 5, 5, 2),
        ("first", "exclude", 3 / 5, 1 / 5, 5, 2),
        # Without a human winner, a decided pair counts half, and a tie counts according to its own rule.
        ("wrong", "half", 2.5 / 7, 0, 7, 3),
        ("half", "half", 4 / 7, 1.5 / 7, 7, 3),
        ("first", "half", 4 / 7, 1.5 / 7, 7, 3),
    ],
)
def test_accuracy_by_tie_rule(
    ties: Ties, human_ties: HumanTies, value: float, from_ties: float, pairs: int, tied: int
) -> None:
    found = accuracy(PREDICTED, PEOPLE, TieRules(ties=ties, human_ties=human_ties))
    assert (found.value, found.from_ties) == pytest.approx((value, from_ties))
    assert (found.pairs, found.tied, found.truth_tied) == (pairs, tied, 2)
    assert (found.low, found.high) == wilson_interval(found.value, pairs)


def test_the_default_is_the_definition_of_the_paper() -> None:
    # Section 3: a metric is correct if it chooses the winner of people. A tie chooses none.
    assert TieRules() == TieRules(ties="wrong", human_ties="exclude")
    decided = PEOPLE != 0
    assert accuracy(PREDICTED, PEOPLE).value == np.mean(np.sign(PREDICTED) == PEOPLE, where=decided)


def test_random_ties_are_seeded_coin_tosses_around_half() -> None:
    rng = np.random.default_rng(0)
    predicted, truth = rng.integers(-1, 2, 2_000), rng.choice([-1, 1], 2_000)
    values = [accuracy(predicted, truth, TieRules(ties="random", seed=seed)).value for seed in range(50)]
    half = accuracy(predicted, truth, TieRules(ties="half")).value
    assert np.mean(values) == pytest.approx(half, abs=0.003)
    assert len(set(values)) > 10
    assert values[0] == accuracy(predicted, truth, TieRules(ties="random", seed=0)).value
    # A pair has the same toss in its class and in all pairs.
    kinds = ["HC"] * 1_000 + ["MM"] * 1_000
    classes = compute_accuracy_by_class(predicted, truth, kinds, TieRules(ties="random"))
    assert (classes["HC"].value + classes["MM"].value) / 2 == pytest.approx(classes["all"].value)


def test_wrong_tie_rules_are_named() -> None:
    with pytest.raises(OptionError, match="'ties' must be one of wrong, half, first, random"):
        TieRules(ties="none")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="'human_ties' must be one of exclude, half"):
        TieRules(human_ties="first")  # type: ignore[arg-type]
    with pytest.raises(MismatchError, match="of equal length"):
        accuracy(PREDICTED, PEOPLE[:2])
    with pytest.raises(MismatchError, match="a class for each"):
        compute_accuracy_by_class(PREDICTED, PEOPLE, ["HC"])


def test_a_class_without_a_human_winner_has_no_accuracy() -> None:
    kinds = ["HI", "HI", "HC", "HC", "HC", "XX", "XX"]
    classes = compute_accuracy_by_class(PREDICTED, PEOPLE, [*kinds[:6], None])
    assert list(classes) == ["HC", "HI", "XX", "all"]
    assert [round(classes[kind].value, 3) for kind in ("HC", "HI", "all")] == [0.333, 0.5, 0.4]
    assert math.isnan(classes["XX"].value)
    assert (classes["XX"].pairs, classes["XX"].truth_tied) == (0, 1)
    draws = combine_draws([classes["XX"], classes["HI"]])
    assert (draws.mean, draws.pairs, draws.draws) == (0.5, 2, 2)
    assert math.isnan(combine_draws([classes["XX"]]).low)


def test_wilson_intervals_agree_with_scipy() -> None:
    rng = np.random.default_rng(1)
    for pairs in (1, 7, 30, 400):
        predicted = rng.choice([-1, 1], pairs)
        found = accuracy(predicted, np.ones(pairs))
        expected = binomtest(int((predicted == 1).sum()), pairs).proportion_ci(method="wilson")
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wins_and_their_correlation() -> None:
    systems = [("1", "2"), ("1", "3"), ("2", "3"), ("3", "2")]
    assert fraction_of_wins(systems, np.array([1, 1, -1, 0])) == {
        "1": 1.0,
        "2": pytest.approx(1 / 6),
        "3": 0.5,
    }
    assert pearson({"1": 0.1, "2": 0.5, "3": 0.9}, {"1": 0.2, "2": 0.3, "3": 0.4}) == pytest.approx(1.0)
    with pytest.raises(MismatchError, match="a winner for each"):
        fraction_of_wins(systems, np.array([1]))
    with pytest.raises(MismatchError, match="at least two systems"):
        pearson({"1": 0.1}, {"1": 0.1})
    with pytest.raises(MismatchError, match="different fractions"):
        pearson({"1": 0.1, "2": 0.1}, {"1": 0.1, "2": 0.3})


PAIRS = (
    Pair(
        image="x",
        first="dogs running.",
        second="a cat",
        references=("a dog runs", "the dog is running"),
        votes=(1, 1),
        kind="HI",
    ),
    Pair(
        image="y",
        first="a red bus",
        second="two buses parked",
        references=("red buses park", "a bus"),
        votes=(1, -1),
        kind="HC",
    ),
)


def test_pairs_are_scored_in_words_or_stems() -> None:
    contenders = [
        ComparedMetric(metric=RougeN(n=1), name="words"),
        ComparedMetric(metric=RougeN(n=1), stem=True, name="stems"),
    ]
    scores = PairScorer(PAIRS, contenders, tokenizer=Tokenizer()).scores()
    # Of 7 words in the references of x none is "dogs", one is "running"; of their stems, four are.
    assert scores["words"][0].tolist() == [pytest.approx(1 / 7), pytest.approx(1 / 7)]
    assert scores["stems"][0].tolist() == [pytest.approx(4 / 7), pytest.approx(1 / 7)]


def test_stems_are_those_of_cider() -> None:
    texts = ["a dog runs happily", "generously buses parked", "dying skies"]
    references = {i: [text, "a tree stands"] for i, text in enumerate(texts)}
    own = Cider2015().prepare(references).score({0: "the dogs running", 1: "a bus parks", 2: "the sky dies"})
    stems = stem_texts([*texts, "a tree stands", "the dogs running", "a bus parks", "the sky dies"])
    stemmed = {i: [stems[text] for text in group] for i, group in references.items()}
    given = Cider2015(stem=False).prepare(stemmed, tokenizer=Tokenizer(kind="none"))
    candidates = {0: stems["the dogs running"], 1: stems["a bus parks"], 2: stems["the sky dies"]}
    assert given.score(candidates).per_image["CIDEr-2015"].tolist() == own.per_image["CIDEr-2015"].tolist()


def test_images_with_several_pairs_count_once() -> None:
    # Although the pair of x is given twice, |I| and document frequencies count two images.
    contenders = [ComparedMetric(metric=Cider2015())]
    once = PairScorer(PAIRS, contenders).scores()["CIDEr-2015"]
    twice = PairScorer([PAIRS[0], *PAIRS], contenders).scores()["CIDEr-2015"]
    assert twice[1:].tolist() == once.tolist()
    fixed = Cider2015(frequencies="uniform")
    assert add_document_frequencies(fixed, {1: ["a"]}, "none") is fixed


def test_fewer_references_are_drawn_from_more() -> None:
    scorer = PairScorer(PAIRS, [ComparedMetric(metric=RougeN(n=1))])
    assert [one[0] for one in scorer.draw(1, seed=4)] == [two[0] for two in scorer.draw(2, seed=4)]
    everything = scorer.differences(scorer.draw(2, seed=4))["ROUGE-1"]
    assert everything == pytest.approx(scorer.differences()["ROUGE-1"])
    with pytest.raises(MismatchError, match="between 1 and 2"):
        scorer.draw(3)


def test_intervals_over_pairs_and_spread_over_draws_are_two_things() -> None:
    truth = np.array([1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    parts = [accuracy(np.array([1] * right + [-1] * (10 - right)), truth) for right in (9, 7, 8)]
    made = combine_draws(parts)
    # The interval is Wilson's for 8 of 10, however many draws that is the mean of.
    assert [made.mean, made.pairs, made.draws] == pytest.approx([0.8, 10, 3])
    assert [made.low, made.high] == pytest.approx([parts[2].low, parts[2].high])
    assert (made.lowest, made.highest) == (0.7, 0.9)
    with pytest.raises(MismatchError, match="at least one draw"):
        combine_draws([])


def test_curves_are_of_each_class_and_go_on_after_a_stop(tmp_path: Path) -> None:
    scorer = PairScorer(PAIRS, [ComparedMetric(metric=RougeN(n=1), stem=True)])
    truth = np.array([1, -1])
    options = ConsensusOptions(counts=(1, 2), draws=2, seed=3)
    said: list[str] = []

    def curves(kept: StudyCheckpoint | None = None) -> object:
        return accuracy_by_references(scorer, truth, options, checkpoint=kept, progress=said.append)

    made = accuracy_by_references(scorer, truth, options)
    assert list(made) == ["HC", "HI", "all"]
    for place, count in enumerate((1, 2)):
        for kind, rows in {"HC": [1], "HI": [0], "all": [0, 1]}.items():
            parts = [
                accuracy(
                    scorer.differences(scorer.draw(count, seed=seed))["ROUGE-1"][rows],
                    truth[rows],
                )
                for seed in (3, 4)
            ]
            assert made[kind]["ROUGE-1"][place] == combine_draws(parts)
    assert curves(StudyCheckpoint(tmp_path / "kept.json", "key")) == made
    content = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))
    del content["parts"]["accuracy 2 1"]
    (tmp_path / "kept.json").write_text(json.dumps(content), encoding="utf-8")
    assert curves(StudyCheckpoint(tmp_path / "kept.json", "key")) == made
    assert said[3] == "2 references, draw 2 of 2"
    assert accuracy_by_references(scorer, truth, ConsensusOptions()) == {}
    with pytest.raises(OptionError, match=r"'draws' must be an integer of at least 1 \(got 0\)"):
        ConsensusOptions(draws=0)
    with pytest.raises(MismatchError, match="between 1 and 2"):
        accuracy_by_references(scorer, truth, ConsensusOptions(counts=(3,)))
    with pytest.raises(MismatchError, match="a class for each"):
        accuracy_by_references(scorer, truth[:1], options)


def test_curves_have_a_panel_a_class() -> None:
    from capeval.studies.consensus.figures import accuracy_curves

    scorer = PairScorer(PAIRS, [ComparedMetric(metric=RougeN(n=1), stem=True)])
    curves = accuracy_by_references(scorer, np.array([1, -1]), ConsensusOptions(counts=(2, 1)))
    figure = accuracy_curves(curves, [2, 1])
    titles = [panel.get_title(loc="left") for panel in figure.axes]
    assert titles[:3] == ["HC (1 pair)", "HI (1 pair)", "All (2 pairs)"]
    one = accuracy_by_references(scorer, np.array([1, -1]), ConsensusOptions(counts=(2,)))
    accuracy_curves(one, [2])


def test_scorer_says_what_is_wrong() -> None:
    with pytest.raises(MismatchError, match="at least one pair"):
        PairScorer([])
    with pytest.raises(MismatchError, match="references \\(got none for pair 0"):
        PairScorer([replace(PAIRS[0], references=())])
    with pytest.raises(OptionError, match="different names"):
        PairScorer(PAIRS, [ComparedMetric(metric=RougeN()), ComparedMetric(metric=RougeN())])
    with pytest.raises(OptionError, match="one name"):
        PairScorer(PAIRS, [ComparedMetric(metric=Bleu(), name="BLEU")])


def test_halves_predict_each_other() -> None:
    votes = (1,) * 6
    agreed = [replace(pair, references=pair.references * 3, votes=votes) for pair in PAIRS]
    found = split_half(PairScorer(agreed, [ComparedMetric(metric=RougeN(n=1), stem=True)]), seed=2)
    assert found.humans.value == 1.0
    assert found.metrics["ROUGE-1"].pairs == 2
    with pytest.raises(MismatchError, match="pair 0 must have a vote"):
        split_half(
            PairScorer([replace(PAIRS[0], votes=(1,))], [ComparedMetric(metric=RougeN())]),
            seed=0,
        )


def abstract_pairs() -> list[Pair]:
    dog, cat = ("the dog runs in grass",) * 4, ("a cat sleeps on beds",) * 4
    rows = [
        ("x", "a dog", "one dog runs", dog, (1, -1, 1, -1)),
        ("x", "beds and cats", "a dog", dog, (-1, -1, -1, -1)),
        # What is wrong for z is the shared candidate of x: its class is sure.
        ("z", "a cat", "a dog", cat, (1, 1, 1, 1)),
        ("z", "the cat sleeps", "a cat", cat, (1, -1, 1, 1)),
    ]
    return [Pair(image=i, first=f, second=s, references=r, votes=v) for i, f, s, r, v in rows]


def test_classes_follow_from_sentences_words_and_votes() -> None:
    found = classify_pairs(abstract_pairs())
    assert [pair.kind for pair in found.pairs] == ["HC", "HI", "HI", "HC"]
    assert (found.sure, found.recovered) == (1, 1)
    with pytest.raises(MismatchError, match="image 'z' must have two pairs"):
        classify_pairs(abstract_pairs()[:3])


def test_two_kinds_of_judgment_meet() -> None:
    other = [replace(pair, first=f" {pair.first}", votes=(-1,)) for pair in reversed(PAIRS)]
    assert [pair.image for pair in judged_twice(PAIRS, other)] == ["x", "y"]
    with pytest.raises(MismatchError, match="pair 1 of image 'y'"):
        judged_twice(PAIRS, other[1:])


def write_triplets(folder: Path, **changes: object) -> tuple[Path, tuple[Path, Path]]:
    from scipy.io import savemat

    rows = [
        {"A": f"reference {n}", "B": "the second", "C": "the first", "rating": 1 if n else -1, **changes}
        for n in range(3)
    ]
    savemat(folder / "consensus.mat", {"triplets": rows})
    for side, text in (("B", "the first"), ("C", "the  second")):
        content = [{"image_id": "x.png", "caption": text}]
        (folder / f"cands{side}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder / "consensus.mat", (folder / "candsB.json", folder / "candsC.json")


def test_triplets_are_read_with_the_authors_sides(tmp_path: Path) -> None:
    path, candidates = write_triplets(tmp_path)
    (pair,) = load_triplets(path, candidates, references=3)
    assert (pair.image, pair.first, pair.second) == ("x.png", "the first", "the  second")
    assert pair.references == ("reference 0", "reference 1", "reference 2")
    assert pair.votes == (1, -1, -1)


def test_wrong_triplets_are_named(tmp_path: Path) -> None:
    path, candidates = write_triplets(tmp_path)
    with pytest.raises(FormatError, match="must have 2 rows per pair \\(got 3 rows\\)"):
        load_triplets(path, candidates, references=2)
    with pytest.raises(FormatError, match="for each of 3 pairs \\(got 1\\)"):
        load_triplets(path, candidates, references=1)
    with pytest.raises(FormatError, match=r"triplets\[0\] and the next triplets must belong to the pair"):
        load_triplets(path, (candidates[1], candidates[0]), references=3)
    path, candidates = write_triplets(tmp_path, rating=2)
    with pytest.raises(FormatError, match="rating of 1 or -1"):
        load_triplets(path, candidates, references=3)
    path.write_bytes(b"no MATLAB")
    with pytest.raises(FormatError, match="must be a MATLAB file"):
        load_triplets(path, candidates)
    with pytest.raises(FileNotFoundError):
        load_triplets(tmp_path / "nothing.mat", candidates)


def write_pascal(folder: Path, **changes: object) -> Path:
    from scipy.io import savemat

    content = {
        "new_input": [{"name": "x.jpg", "sent1": " a dog", "sent2": "a cat"}] * 2,
        "new_data": [[6, 7], [1, 6]],
        "category": [2, 3],
        "result": [{"result": [1, 1, -1]}, {"result": [-1, -1, -1]}],
        **changes,
    }
    savemat(folder / "pairs.mat", content)
    return folder / "pairs.mat"


def test_pairwise_judgments_are_read(tmp_path: Path) -> None:
    one, two = load_pascal_pairs(write_pascal(tmp_path))
    assert (one.image, one.first, one.second, one.kind) == ("x.jpg", "a cat", " a dog", "HI")
    assert (one.votes, *writers(one)) == ((-1, -1, 1), "7", "6")
    assert (two.kind, two.votes, *writers(two)) == ("HM", (1, 1, 1), "6", "1")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"category": [2, 9]}, r"category\[1\] must be an integer from 1 to 4"),
        ({"category": [2, 1, 1]}, "one row per pair"),
        ({"result": [{"result": [1, 3]}, {"result": [1, 1]}]}, r"result\[0\] must have votes of 1 or -1"),
        ({"result": [{"votes": [1]}, {"votes": [1]}]}, "must have 'result'"),
    ],
)
def test_wrong_pairwise_judgments_are_named(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load_pascal_pairs(write_pascal(tmp_path, **changes))


PREFERENCE = {"image": "VOC/x.jpg", "captions": ["a dog", "a cat"], "label": 0, "references": ["dog"]}


def test_preferences_are_read(tmp_path: Path) -> None:
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps({"HC": [PREFERENCE]}), encoding="utf-8")
    (pair,) = load_pascal_preferences(path)
    assert (pair.image, pair.first, pair.second, pair.votes) == ("x.jpg", "a cat", "a dog", (-1,))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "keys among HC"),
        ({"XX": []}, "keys among HC"),
        ({"HC": {}}, "a list of pairs"),
        ({"HC": [{**PREFERENCE, "label": 2}]}, "label of 0 or 1"),
        ({"HC": [{**PREFERENCE, "references": []}]}, "HC\\[0\\].references must be a list"),
        ({"HC": [{"image": "x"}]}, "must have 'captions'"),
    ],
)
def test_wrong_preferences_are_named(tmp_path: Path, content: object, message: str) -> None:
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(FormatError, match=message):
        load_pascal_preferences(path)
