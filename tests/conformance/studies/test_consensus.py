"""Consensus studies on the real judgments, compared with the numbers of the CIDEr paper."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.io import loadmat

from capeval.datasets.pascal50s import load_pascal_pairs, load_pascal_preferences, load_triplets
from capeval.formats import load_references
from capeval.formats.judgments.plans import Pair, Plan, Triplet
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider2015, CiderD
from capeval.metrics.rouge import RougeN
from capeval.studies.consensus import (
    ConsensusOptions,
    accuracy_by_references,
    judged_twice,
    split_half,
)
from capeval.studies.consensus.abstract50s import ClassifiedPairs, classify_pairs
from capeval.studies.effort import estimated_agreement
from capeval.studies.plan import winners
from capeval.studies.ranking import rank_correlation, rank_references
from capeval.studies.shared.accuracy import accuracy, compute_accuracy_by_class
from capeval.studies.shared.agreement import krippendorff_alpha
from capeval.studies.shared.pair_scores import PairScorer
from capeval.studies.shared.ties import TieRules, Ties
from capeval.studies.shared.words import ComparedMetric
from capeval.studies.votes import count_pair_votes, count_votes, votes_until_confident, votes_until_decided
from tests.shared_data import shared_data

TIES: tuple[Ties, ...] = ("wrong", "half", "first")
FIRST = TieRules(ties="first")

# CIDEr paper, Table 1, ABSTRACT-50S with 48 references: HC and HI, in percent.
TABLE_1 = {
    "BLEU-4": (65.5, 93.0),
    "ROUGE-1": (71.5, 91.0),
    "METEOR": (69.5, 94.0),
    "CIDEr-2015": (71.5, 96.0),
}


@cache
def abstract() -> tuple[ClassifiedPairs, PairScorer]:
    folder = shared_data("abstract50s")
    names = (folder / "abstract_candsB.json.gz", folder / "abstract_candsC.json.gz")
    found = classify_pairs(load_triplets(folder / "consensus_abstract.mat", names))
    return found, PairScorer(found.pairs)


def test_the_judgments_are_all_there() -> None:
    found, _ = abstract()
    assert len(found.pairs) == 400
    assert {len(pair.votes) for pair in found.pairs} == {48}
    assert sorted(pair.kind or "" for pair in found.pairs) == ["HC"] * 200 + ["HI"] * 200
    assert int((winners([pair.votes for pair in found.pairs]) == 0).sum()) == 12
    # The classes that are sure are what words and votes say, but for one.
    assert (found.sure, found.recovered) == (37, 36)


@pytest.mark.parametrize("ties", ["wrong", "half"])
def test_table_1_is_met_within_1_5_points(ties: Ties) -> None:
    # The numbers of the table are multiples of 0.5, so pairs without a human winner were not excluded.
    found, scorer = abstract()
    truth = winners([pair.votes for pair in found.pairs])
    differences = scorer.differences()
    rules = TieRules(ties=ties, human_ties="half")
    for name, expected in TABLE_1.items():
        classes = compute_accuracy_by_class(
            differences[name], truth, [pair.kind for pair in found.pairs], rules
        )
        for kind, percent in zip(("HC", "HI"), expected, strict=True):
            assert 100 * classes[kind].value == pytest.approx(percent, abs=1.5), (name, kind)


def test_table_1_of_pascal_is_met_within_1_point() -> None:
    # The paper used 48 of the 50 sentences of each image: 71.8, 99.7, 92.1 and 72.2 with CIDEr.
    folder = shared_data("pascal50s")
    rows = loadmat(folder / "pascal50S.mat", simplify_cells=True)["train_sent_final"]
    names = [str(row["name"]).rsplit("/", 1)[-1] for row in rows]
    sentences = {name: tuple(map(str, row["sentences"][:48])) for name, row in zip(names, rows, strict=True)}
    pairs = [
        replace(pair, references=sentences[str(pair.image)])
        for pair in load_pascal_preferences(folder / "pascal_50s_5refs.json.gz")
    ]
    truth, kinds = winners([pair.votes for pair in pairs]), [pair.kind for pair in pairs]
    differences = PairScorer(pairs, [ComparedMetric(metric=Cider2015())]).differences()["CIDEr-2015"]
    found = {
        ties: {
            kind: 100 * each.value
            for kind, each in compute_accuracy_by_class(
                differences, truth, kinds, TieRules(ties=ties)
            ).items()
            if kind != "all"
        }
        for ties in TIES
    }
    for values in found.values():
        assert values == pytest.approx({"HC": 71.8, "HI": 99.7, "HM": 92.1, "MM": 72.2}, abs=1)
    assert found["first"] == pytest.approx({"HC": 71.5, "HI": 99.7, "HM": 91.3, "MM": 72.2})
    assert found["wrong"] == pytest.approx({"HC": 71.4, "HI": 99.7, "HM": 91.2, "MM": 71.5})


def test_wrong_ties_meet_the_pairwise_table_of_pascal() -> None:
    # Appendix I: 73.15 for ROUGE-1 and 73.4 for BLEU-1. In words, ROUGE-1 ties on 4 % of the pairs.
    folder = shared_data("pascal50s")
    preferences = load_pascal_preferences(folder / "pascal_50s_5refs.json.gz")
    votes = judged_twice(preferences, load_pascal_pairs(folder / "pair_pascal.mat"))
    pairwise = winners([pair.votes for pair in votes])
    metrics = [RougeN(n=1), Bleu(orders=(1,), level="sentence")]
    scorer = PairScorer(preferences, [ComparedMetric(metric=metric) for metric in metrics])
    values = {
        name: (100 * accuracy(each, pairwise).value, 100 * accuracy(each, pairwise, FIRST).value)
        for name, each in scorer.differences().items()
    }
    assert values["ROUGE-1"] == pytest.approx((73.125, 75.325), abs=0.006)
    assert values["BLEU-1"][0] == pytest.approx(73.42, abs=0.006)


def test_more_references_help() -> None:
    found, scorer = abstract()
    truth = winners([pair.votes for pair in found.pairs])
    few, many = scorer.differences(scorer.draw(1)), scorer.differences()
    for name in ("CIDEr-2015", "METEOR", "ROUGE-1"):
        assert accuracy(few[name], truth).value < accuracy(many[name], truth).value - 0.03


def test_curves_end_at_table_1_and_have_wider_intervals_by_class() -> None:
    found, scorer = abstract()
    truth = winners([pair.votes for pair in found.pairs])
    curves = accuracy_by_references(scorer, truth, ConsensusOptions(counts=(5, 48), draws=2))
    known = compute_accuracy_by_class(
        scorer.differences()["CIDEr-2015"], truth, [pair.kind for pair in found.pairs]
    )
    for kind, expected in known.items():
        few, everything = curves[kind]["CIDEr-2015"]
        # With all references, draws are all alike.
        assert (everything.low, everything.lowest, everything.highest, everything.high) == pytest.approx(
            (expected.low, expected.value, expected.value, expected.high)
        )
        assert few.low < few.lowest <= few.mean <= few.highest < few.high
        assert few.mean < everything.mean
        assert few.pairs == {"HC": 190, "HI": 198, "all": 388}[kind]
    widths = {
        kind: points["CIDEr-2015"][0].high - points["CIDEr-2015"][0].low for kind, points in curves.items()
    }
    assert widths["HC"] > widths["all"]


def test_human_performance_is_near_the_papers() -> None:
    # Section 7.4: 83 % for people, 82 % for CIDEr, from 24 references each; the halves are random.
    parts = [split_half(abstract()[1], seed=1_000 * draw) for draw in range(3)]
    assert sum(100 * part.humans.value for part in parts) / 3 == pytest.approx(83, abs=2.5)
    assert sum(100 * part.metrics["CIDEr-2015"].value for part in parts) / 3 == pytest.approx(82, abs=2.5)


def test_both_kinds_of_judgment_of_pascal() -> None:
    folder = shared_data("pascal50s")
    preferences = load_pascal_preferences(folder / "pascal_50s_5refs.json.gz")
    pairs = judged_twice(preferences, load_pascal_pairs(folder / "pair_pascal.mat"))
    assert len(pairs) == 4_000
    consensus, pairwise = (winners([pair.votes for pair in group]) for group in (preferences, pairs))
    same = compute_accuracy_by_class(consensus, pairwise, [pair.kind for pair in pairs])
    # People who see the image prefer different sentences than the most similar ones to the references.
    assert same["HC"].value < 0.7 < 0.98 < same["HI"].value
    assert krippendorff_alpha([pair.votes for pair in pairs if len(pair.votes) == 11]) > 0.5
    scorer = PairScorer(preferences)
    differences = scorer.differences()
    # Appendix I, in percent: metrics with 5 references against the pairwise judgments.
    for name, percent in {"BLEU-1": 73.4, "BLEU-4": 74.75, "ROUGE-L": 75.6, "METEOR": 79.5}.items():
        assert 100 * accuracy(differences[name], pairwise).value == pytest.approx(percent, abs=1.5), name
    best = max(differences, key=lambda name: accuracy(differences[name], consensus).value)
    assert best == "CIDEr-2015"


def test_cider_and_cider_d_rank_alike() -> None:
    references = load_references(shared_data("abstract50s") / "abstract48S.json.gz")
    made = rank_references(references, (ComparedMetric(metric=Cider2015()), ComparedMetric(metric=CiderD())))
    found = rank_correlation(made.scores["CIDEr-2015"], made.scores["CIDEr-D"])
    # Section 8: 0.94.
    assert found.all_references == pytest.approx(0.94, abs=0.01)
    assert found.mean == pytest.approx(0.91, abs=0.01)


def test_published_votes_are_counted_as_those_of_a_plan() -> None:
    pairs = abstract()[0].pairs
    plan = Plan(
        pairs=pairs,
        triplets=tuple(
            Triplet(
                pair=place,
                reference=reference,
                left=pair.first,
                right=pair.second,
                on_the_left="first",
                judgments=1,
            )
            for place, pair in enumerate(pairs)
            for reference in pair.references
        ),
    )
    assert len(plan.triplets) == 19_200
    counted = count_votes(plan, [(vote,) for pair in pairs for vote in pair.votes])
    assert counted.agreement["all"].tied_pairs == 12
    assert int((counted.winners != 0).sum()) == 388
    assert counted.winners.tolist() == winners([pair.votes for pair in pairs]).tolist()


# Of the pairs with eleven votes.
PASCAL_ALPHA = {"HC": 0.205, "HI": 0.917, "HM": 0.860, "MM": 0.483}


def pascal_votes() -> tuple[Pair, ...]:
    return load_pascal_pairs(shared_data("pascal50s") / "pair_pascal.mat")


def test_eleven_people_agree_on_pascal_as_far_as_the_classes_let_them() -> None:
    pairs = [pair for pair in pascal_votes() if len(pair.votes) == 11]
    assert len(pairs) == 3_994
    counted = count_pair_votes(pairs, [pair.votes for pair in pairs], judgments=11)
    assert counted.incomplete == ()
    for kind, alpha in PASCAL_ALPHA.items():
        measured = counted.agreement[kind].alpha
        assert measured is not None
        assert measured.value == pytest.approx(alpha, abs=0.0005), kind


def test_stopping_when_decided_changes_no_winner_of_pascal() -> None:
    pairs = pascal_votes()
    lengths = [votes_until_decided(pair.votes, len(pair.votes)) for pair in pairs]
    stopped = [pair.votes[:length] for pair, length in zip(pairs, lengths, strict=True)]
    whole = winners([pair.votes for pair in pairs])
    assert (winners(stopped) == whole).all()
    of_class = {
        kind: [n for n, pair in zip(lengths, pairs, strict=True) if pair.kind == kind]
        for kind in PASCAL_ALPHA
    }
    means = {kind: round(sum(numbers) / len(numbers), 2) for kind, numbers in of_class.items()}
    # In the order of the file.
    assert means == {"HC": 8.29, "HI": 6.16, "HM": 6.26, "MM": 7.36}
    assert sum(lengths) / len(lengths) == pytest.approx(7.0, abs=0.05)


def test_stopping_when_confident_takes_21_of_48_votes_of_abstract_and_agrees_in_98_percent() -> None:
    pairs = abstract()[0].pairs
    lengths = [votes_until_confident(pair.votes) for pair in pairs]
    stopped = winners([pair.votes[:length] for pair, length in zip(pairs, lengths, strict=True)])
    whole = winners([pair.votes for pair in pairs])
    # In the order of the file: 20.8 of 48 votes, and 381 of the 388 winners; twelve pairs have none.
    assert sum(lengths) / len(lengths) == pytest.approx(20.845)
    assert int((stopped == whole)[whole != 0].sum()) == 381
    # In other orders it is much the same.
    rng = np.random.default_rng(0)
    taken, agree = [], []
    for _ in range(20):
        votes = [rng.permutation(pair.votes).tolist() for pair in pairs]
        stops = [votes_until_confident(each) for each in votes]
        made = winners([each[:stop] for each, stop in zip(votes, stops, strict=True)])
        taken.append(sum(stops) / len(stops))
        agree.append(float((made == whole)[whole != 0].mean()))
    assert np.mean(taken) == pytest.approx(21, abs=0.5)
    assert np.mean(agree) == pytest.approx(0.98, abs=0.01)


def test_the_forecast_of_stopping_when_confident_is_near_on_abstract() -> None:
    # On pairs of two people's captions of an image (HC) it is near. Where one is of another image (HI), most
    # pairs are plain and a few are not, so it takes fewer votes than a beta distribution says.
    rng = np.random.default_rng(0)
    for kind, bound in {"HC": 0.08, "HI": 0.35}.items():
        votes = [pair.votes for pair in abstract()[0].pairs if pair.kind == kind]
        taken = np.mean([votes_until_confident(rng.permutation(each).tolist()) for each in votes * 5])
        assert estimated_agreement(votes).votes_until_confident(48) == pytest.approx(taken, rel=bound), kind


def test_the_forecast_of_stopping_holds_on_pascal() -> None:
    # The distribution of votes that the forecast takes is estimated from the votes of each class.
    expected = {"HC": 8.29, "HI": 6.16, "HM": 6.26, "MM": 7.36}
    for kind, mean in expected.items():
        votes = [pair.votes for pair in pascal_votes() if pair.kind == kind]
        assert estimated_agreement(votes).votes_until_decided(11) == pytest.approx(mean, rel=0.02), kind
