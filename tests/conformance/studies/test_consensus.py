"""The consensus studies on the real judgements, beside the numbers of the CIDEr paper."""

from functools import cache

import pytest

from capeval.formats import load_references
from capeval.formats.pascal50s import load_pascal_pairs, load_pascal_preferences, load_triplets
from capeval.metrics.cider import Cider, CiderD
from capeval.studies.abstract50s import Classified, classified
from capeval.studies.accuracy import accuracy, by_class
from capeval.studies.consensus import (
    ConsensusOptions,
    accuracy_by_references,
    judged_twice,
    split_half,
)
from capeval.studies.pair_scores import PairScorer
from capeval.studies.protocol import krippendorff_alpha, winners
from capeval.studies.ranking import rank_correlation, rank_references
from capeval.studies.words import Contender
from tests.shared_data import shared_data

# CIDEr paper, Table 1, ABSTRACT-50S with 48 references: HC and HI, in percent.
TABLE_1 = {
    "BLEU-4": (65.5, 93.0),
    "ROUGE-1": (71.5, 91.0),
    "METEOR": (69.5, 94.0),
    "CIDEr": (71.5, 96.0),
}


@cache
def abstract() -> tuple[Classified, PairScorer]:
    folder = shared_data("abstract50s")
    names = (folder / "abstract_candsB.json.gz", folder / "abstract_candsC.json.gz")
    found = classified(load_triplets(folder / "consensus_abstract.mat", names))
    return found, PairScorer(found.pairs)


def test_the_judgements_are_all_there() -> None:
    found, _ = abstract()
    assert len(found.pairs) == 400
    assert {len(pair.votes) for pair in found.pairs} == {48}
    assert sorted(pair.kind or "" for pair in found.pairs) == ["HC"] * 200 + ["HI"] * 200
    assert int((winners([pair.votes for pair in found.pairs]) == 0).sum()) == 12
    # The classes that are sure are what words and votes say, but for one.
    assert (found.sure, found.recovered) == (37, 36)


def test_table_1_is_met_within_1_5_points() -> None:
    found, scorer = abstract()
    truth = winners([pair.votes for pair in found.pairs])
    differences = scorer.differences()
    for name, expected in TABLE_1.items():
        classes = by_class(differences[name], truth, [pair.kind for pair in found.pairs])
        for kind, percent in zip(("HC", "HI"), expected, strict=True):
            assert 100 * classes[kind].value == pytest.approx(percent, abs=1.5), (name, kind)


def test_more_references_help() -> None:
    found, scorer = abstract()
    truth = winners([pair.votes for pair in found.pairs])
    few, many = scorer.differences(scorer.draw(1)), scorer.differences()
    for name in ("CIDEr", "METEOR", "ROUGE-1"):
        assert accuracy(few[name], truth).value < accuracy(many[name], truth).value - 0.03


def test_curves_end_at_table_1_and_have_wider_intervals_by_class() -> None:
    found, scorer = abstract()
    truth = winners([pair.votes for pair in found.pairs])
    curves = accuracy_by_references(scorer, truth, ConsensusOptions(counts=(5, 48), draws=2))
    known = by_class(scorer.differences()["CIDEr"], truth, [pair.kind for pair in found.pairs])
    for kind, expected in known.items():
        few, everything = curves[kind]["CIDEr"]
        # With all references, draws are all alike.
        assert (everything.low, everything.lowest, everything.highest, everything.high) == pytest.approx(
            (expected.low, expected.value, expected.value, expected.high)
        )
        assert few.low < few.lowest <= few.mean <= few.highest < few.high
        assert few.mean < everything.mean
        assert few.pairs == (400 if kind == "all" else 200)
    widths = {kind: points["CIDEr"][0].high - points["CIDEr"][0].low for kind, points in curves.items()}
    assert widths["HC"] > widths["all"]


def test_human_performance_is_near_the_papers() -> None:
    # Section 7.4: 83 % for people, 82 % for CIDEr, from 24 references each; the halves are random.
    parts = [split_half(abstract()[1], seed=1_000 * draw) for draw in range(3)]
    assert sum(100 * part.humans.value for part in parts) / 3 == pytest.approx(83, abs=2.5)
    assert sum(100 * part.metrics["CIDEr"].value for part in parts) / 3 == pytest.approx(82, abs=2.5)


def test_both_kinds_of_judgement_of_pascal() -> None:
    folder = shared_data("pascal50s")
    preferences = load_pascal_preferences(folder / "pascal_50s_5refs.json.gz")
    pairs = judged_twice(preferences, load_pascal_pairs(folder / "pair_pascal.mat"))
    assert len(pairs) == 4_000
    consensus, pairwise = (winners([pair.votes for pair in group]) for group in (preferences, pairs))
    same = by_class(consensus, pairwise, [pair.kind for pair in pairs])
    # People who see the image like other sentences than those that are most like the references.
    assert same["HC"].value < 0.7 < 0.98 < same["HI"].value
    assert krippendorff_alpha([pair.votes for pair in pairs if len(pair.votes) == 11]) > 0.5
    scorer = PairScorer(preferences)
    differences = scorer.differences()
    # Appendix I, in percent: metrics with 5 references against the pairwise judgements.
    for name, percent in {"BLEU-1": 73.4, "BLEU-4": 74.75, "ROUGE-L": 75.6, "METEOR": 79.5}.items():
        assert 100 * accuracy(differences[name], pairwise).value == pytest.approx(percent, abs=1.5), name
    best = max(differences, key=lambda name: accuracy(differences[name], consensus).value)
    assert best == "CIDEr"


def test_cider_and_cider_d_rank_alike() -> None:
    references = load_references(shared_data("abstract50s") / "abstract48S.json.gz")
    made = rank_references(references, (Contender(metric=Cider()), Contender(metric=CiderD())))
    found = rank_correlation(made.scores["CIDEr"], made.scores["CIDEr-D"])
    # Section 8: 0.94.
    assert found.all_references == pytest.approx(0.94, abs=0.01)
    assert found.mean == pytest.approx(0.91, abs=0.01)
