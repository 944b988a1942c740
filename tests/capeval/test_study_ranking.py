"""References ranked against each other, and metrics that are gamed."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from capeval import Candidates, References
from capeval.datasets.pascal50s import load_pascal_pairs
from capeval.errors import DependencyError, MismatchError, OptionError
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider2015, CiderD
from capeval.metrics.rouge import RougeN
from capeval.resources import DocumentFrequencies
from capeval.studies import gaming, ranking
from capeval.studies.shared.words import ComparedMetric, stem_texts

REFERENCES = References(
    {
        "x": ["a dog runs on grass", "A dog runs.", "the sky"],
        "y": ["two cats sleep", "cats sleep on a bed"],
        "z": ["a red bus in the street", "the red bus", "a bus on a street", "nothing here"],
    }
)
CONTENDERS = (
    ComparedMetric(metric=RougeN(n=1)),
    ComparedMetric(metric=Bleu(orders=(1,), level="sentence", brevity="none"), name="precision"),
    ComparedMetric(metric=Cider2015()),
)


def test_each_reference_is_scored_against_the_rest() -> None:
    made = ranking.rank_references(REFERENCES, CONTENDERS)
    # "a dog runs" has 3 of the 5 words, and none of the 2 of "the sky".
    assert made.scores["ROUGE-1"][0] == pytest.approx([3 / 5, 3 / 7, 0])
    assert made.scores["precision"][0] == pytest.approx([3 / 5, 1, 0], abs=1e-6)
    frequencies = DocumentFrequencies.of(REFERENCES, stem=True)
    rest = Cider2015(frequencies=frequencies).prepare({"z": REFERENCES["z"][1:]})
    assert made.scores["CIDEr-2015"][2][0] == rest.score({"z": REFERENCES["z"][0]}).per_image["CIDEr-2015"][0]
    assert ranking.ranked(made, "x", "precision")[0][1] == "A dog runs."
    assert [text for _, text in ranking.ranked(made, "x", "ROUGE-1")] == REFERENCES["x"]


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ranking.rank_references(REFERENCES, CONTENDERS)
    monkeypatch.setattr("capeval.studies.ranking.compute.BATCH", 2)
    seen: list[str] = []
    parts = ranking.rank_references(REFERENCES, CONTENDERS, progress=seen.append)
    assert seen == ["1 images ranked", "2 images ranked", "3 images ranked"]
    for name, scores in whole.scores.items():
        for one, other in zip(scores, parts.scores[name], strict=True):
            assert one.tolist() == other.tolist()


def test_ranking_says_what_is_wrong() -> None:
    with pytest.raises(MismatchError, match="two references \\(got one for image 2"):
        ranking.rank_references(References({1: ["a", "b"], 2: ["c"]}), CONTENDERS)
    made = ranking.rank_references(REFERENCES, CONTENDERS)
    with pytest.raises(MismatchError, match="'q' is not among"):
        ranking.ranked(made, "q", "CIDEr-2015")
    with pytest.raises(OptionError, match="one of ROUGE-1, precision, CIDEr"):
        ranking.ranked(made, "x", "BLEU")


def test_rank_correlation_by_hand() -> None:
    a = [np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0])]
    b = [np.array([1.0, 2.0, 4.0, 3.0]), np.array([3.0, 2.0, 1.0])]
    found = ranking.rank_correlation(a, b)
    # 1 - 6 * 2 / (4 * 15) = 0.8, and -1.
    assert found.mean == pytest.approx(-0.1)
    assert found.images == 2
    # The t interval of two numbers: 12.706 standard errors, 0.9 each, to both sides.
    assert (found.low, found.high) == pytest.approx((-0.1 - 12.706 * 0.9, -0.1 + 12.706 * 0.9), abs=1e-3)
    flat = [np.ones(4), a[1]]
    one = ranking.rank_correlation(flat, a)
    assert one.images == 1
    assert math.isnan(one.low)
    with pytest.raises(MismatchError, match="same references"):
        ranking.rank_correlation(a, b[:1])
    with pytest.raises(MismatchError, match="no image has references with different scores"):
        ranking.rank_correlation([np.ones(4)], [np.ones(4)])


def test_ranks_are_parts_of_their_image() -> None:
    scores = [np.array([1.0, 3.0, 2.0]), np.array([5.0, 5.0])]
    assert ranking.ranks(scores).tolist() == [1.0, 0.0, 0.5, 0.5, 0.5]


HONEST = Candidates({"x": "a dog", "y": "cats on a bed", "z": "a bus"})


def test_gaming_scores_what_it_says() -> None:
    contenders = [ComparedMetric(metric=RougeN(n=1)), ComparedMetric(metric=CiderD())]
    made = gaming.game(REFERENCES, HONEST, contenders)
    assert len(made) == 1 + len(gaming.ATTACKS)
    honest, twice = made[0], made[1]
    assert (honest.attack, honest.example) == (None, "a dog")
    assert (twice.attack, twice.example) == (gaming.ATTACKS[0], "a dog a dog")
    expected = RougeN(n=1).prepare(REFERENCES).score(HONEST).corpus["ROUGE-1"]
    assert honest.scores["ROUGE-1"] == pytest.approx(expected)
    again = {image: f"{texts[0]} {texts[0]}" for image, texts in HONEST.items()}
    repeated = CiderD().prepare(REFERENCES).score(again)
    assert twice.scores["CIDEr-D"] == pytest.approx(repeated.corpus["CIDEr-D"])
    alone = CiderD().prepare(REFERENCES).score(HONEST).per_image["CIDEr-D"]
    better = (repeated.per_image["CIDEr-D"] > alone + 1e-3).mean()
    assert twice.better["CIDEr-D"] == better
    assert set(honest.better.values()) == {0.0}


def test_attacks_know_what_they_say() -> None:
    words = {image: [text.lower().strip(".") for text in texts] for image, texts in REFERENCES.items()}
    corpus = gaming.ReferenceCorpus(words)
    assert corpus.length == round(sum(len(t.split()) for g in words.values() for t in g) / 9)
    # Two of three references of x have each of these words, and no other image has one.
    assert set(corpus.agreed("x", 1)[:2]) == {("dog",), ("runs",)}
    for attack in gaming.ATTACKS:
        one, other = (attack.make(corpus, image, ["a", "dog"]) for image in ("x", "z"))
        assert one
        assert (one == other) == (attack.knows != "references"), attack.name
    assert {attack.knows for attack in gaming.ATTACKS} == {"caption", "corpus", "references"}


def test_gaming_says_what_is_wrong() -> None:
    with pytest.raises(MismatchError, match="image 'z' is without"):
        gaming.game(REFERENCES, HONEST.select(["x", "y"]))
    with pytest.raises(MismatchError, match="image 'q' is without"):
        gaming.game(REFERENCES, Candidates({**HONEST, "q": ["a dog"]}))
    with pytest.raises(OptionError, match="at least one attack"):
        gaming.game(REFERENCES, HONEST, attacks=())


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("scipy", "scipy.io", "scipy.stats", "snowballstemmer"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DependencyError, match="stems need snowballstemmer: pip install"):
        stem_texts(["dogs"])
    with pytest.raises(DependencyError, match="ranks need scipy: pip install"):
        ranking.ranks([np.ones(2)])
    with pytest.raises(DependencyError, match="MATLAB files need scipy: pip install"):
        load_pascal_pairs(Path("pair_pascal.mat"))
