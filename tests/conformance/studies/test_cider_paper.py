"""The numbers of the CIDEr paper that published data reproduce."""

from dataclasses import replace
from functools import cache

import pytest

from capeval import References
from capeval.datasets.flickr8k import load_flickr8k_expert
from capeval.datasets.pascal50s import load_pascal50s
from capeval.datasets.published.cider import load_cider_ranks
from capeval.datasets.sentences50s import load_sentences
from capeval.metrics.cider import Cider2015, CiderD
from capeval.studies.cider_paper.compute import study_paper_flickr8k
from capeval.studies.cider_paper.contenders import PILOT
from capeval.studies.cider_paper.crossed_wins import collect_outputs, cross_systems
from capeval.studies.cider_paper.ranking_parts import compare_ranks
from capeval.studies.consensus import (
    ConsensusOptions,
    ConsensusStudy,
    accuracy_by_references,
    pearson,
    study_pascal50s,
)
from capeval.studies.plan import winners
from capeval.studies.ranking import rank_correlation, rank_references
from capeval.studies.shared.pair_scores import PAPER_TOKENIZER, PairScorer
from capeval.studies.shared.words import ComparedMetric
from tests.shared_data import shared_data


@cache
def sentences() -> References:
    return load_sentences(shared_data("pascal50s") / "pascal50S.mat")


@cache
def pascal() -> ConsensusStudy:
    return study_pascal50s(*load_pascal50s(shared_data("pascal50s")), ConsensusOptions())


def test_pascal50s_has_the_sentences_of_the_paper() -> None:
    counts = [len(texts) for texts in sentences().values()]
    assert (len(counts), counts.count(120), counts.count(50)) == (1000, 50, 950)
    abstract = load_sentences(shared_data("abstract50s") / "abstract50S.mat")
    assert {len(texts) for texts in abstract.values()} == {48}
    assert len(abstract) == 500


def test_wins_depend_on_the_opponents() -> None:
    # Printed: 0.98. 0.72 with five references (docs/studies/consensus.md).
    raw, balanced = (each["CIDEr-2015"].correlation for each in (pascal().wins, pascal().balanced_wins))
    assert raw is not None
    assert balanced is not None
    assert raw.score == pytest.approx(0.831, abs=5e-4)
    assert balanced.score == pytest.approx(0.904, abs=5e-4)


def test_all_systems_meet_on_129_images() -> None:
    _, judged = load_pascal50s(shared_data("pascal50s"))
    outputs = collect_outputs(judged, ["1", "2", "3", "4", "5"])
    assert len(outputs) == 129
    found = cross_systems(outputs, {image: texts[:48] for image, texts in sentences().items()})
    people = pascal().balanced_wins["consensus"].fractions
    # Midge, then Babytalk; Story is the lowest. People and CIDEr differ on the other two.
    assert [sorted(each, key=each.__getitem__, reverse=True) for each in (people, found.means)] == [
        ["1", "2", "5", "4", "3"],
        ["1", "2", "4", "5", "3"],
    ]
    assert 0.85 < pearson(found.means, people) < 0.95


def test_the_pilot_study() -> None:
    preferences, _ = load_pascal50s(shared_data("pascal50s"))
    pairs = [
        replace(pair, references=tuple(sentences()[pair.image]))
        for pair in preferences
        if len(sentences()[pair.image]) == 120
    ]
    assert len(pairs) == 179
    scorer = PairScorer(pairs, PILOT, tokenizer=PAPER_TOKENIZER)
    truth = winners([pair.votes for pair in pairs])
    curves = accuracy_by_references(scorer, truth, ConsensusOptions(counts=(1, 5, 100), draws=5))["all"]
    assert curves["ROUGE-1"][0].mean == pytest.approx(0.63, abs=0.02)
    assert curves["ROUGE-1"][1].mean == pytest.approx(0.77, abs=0.04)
    assert curves["BLEU-1"][2].mean < curves["BLEU-1"][1].mean - 0.01
    assert curves["CIDEr-2015-1"][2].mean > curves["CIDEr-2015-1"][0].mean + 0.05


def test_the_ranks_in_figures_5_and_6() -> None:
    references = References({image: texts[:48] for image, texts in sentences().items()})
    metrics = [
        ComparedMetric(metric=Cider2015()),
        ComparedMetric(metric=CiderD()),
        ComparedMetric(metric=Cider2015(n=1, order=1)),
        ComparedMetric(metric=CiderD(n=1, order=1)),
        ComparedMetric(metric=CiderD(n=1, order=1, stem=True), name="CIDEr-D-1 on stems"),
    ]
    ranking = rank_references(references, metrics)
    assert compare_ranks(ranking, "CIDEr-2015-1", load_cider_ranks("Figure 5")["CIDEr-2015-1"])[0] == 43
    printed = load_cider_ranks("Figure 6")["CIDEr-D-1"]
    assert compare_ranks(ranking, "CIDEr-D-1 on stems", printed)[0] == 42
    assert compare_ranks(ranking, "CIDEr-D-1", printed)[0] == 8
    correlation = rank_correlation(ranking.scores["CIDEr-2015"], ranking.scores["CIDEr-D"])
    assert correlation.all_references == pytest.approx(0.946, abs=5e-4)


def test_flickr8k() -> None:
    folder = shared_data("flickr8k")
    rho = study_paper_flickr8k(
        *load_flickr8k_expert(folder / "ExpertAnnotations.txt.gz", folder / "Flickr8k.token.txt.gz")
    )
    # Printed: 0.58 and 0.56.
    assert rho == {
        "CIDEr-2015": pytest.approx(0.5835, abs=5e-5),
        "METEOR": pytest.approx(0.519, abs=5e-4),
    }
