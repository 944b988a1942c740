"""CIDEr-R from the command line and in Python, with scores of the published code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capeval import CiderD, CiderR, DocumentFrequencies, References, Tokenizer, evaluate
from capeval.errors import CapevalWarning
from tests.capeval.cli.test_cli import output

# Captions made up for this test, and the scores of the published code.
REFERENCES = {
    1: ["a brown dog runs on the green grass", "the dog is running"],
    2: ["two cats sleep on a red bed"],
    3: ["a man rides a bicycle down the road", "somebody is cycling", "a cyclist on a road"],
}
CANDIDATES = {1: "a dog dog dog runs on grass", 2: "two cats sleep on a red bed", 3: "a man on a bike"}
PUBLISHED = {1: 1.0747575566292598, 2: 10.0, 3: 0.4619109863154924}


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("references.json").write_text(json.dumps(REFERENCES))
    Path("results.json").write_text(json.dumps(CANDIDATES))
    found = json.loads(output("score", "references.json", "results.json", "-m", "cider-r", "-f", "json"))
    assert found["metrics"] == {"CIDEr-R": pytest.approx(3.845556180981584, rel=1e-12)}
    assert found["signatures"]["CIDEr-R"]["options"] == ["n=4", "order=None"]


def test_scores_of_the_published_code() -> None:
    report = evaluate(REFERENCES, CANDIDATES, [CiderR()])
    assert report.per_image["CIDEr-R"].tolist() == pytest.approx(list(PUBLISHED.values()), rel=1e-12)


def test_several_candidates_of_an_image() -> None:
    prepared = CiderR().prepare(REFERENCES)
    alone = prepared.score(CANDIDATES).per_image["CIDEr-R"].tolist()
    scores = prepared.score({3: [CANDIDATES[3], "a cyclist on a road", ""], 1: [CANDIDATES[1]]})
    assert scores.image_ids == (3, 3, 3, 1)
    found = scores.per_image["CIDEr-R"].tolist()
    assert (found[0], found[3]) == (alone[2], alone[0])
    assert found[1] > found[0] > found[2] == 0


def test_frequencies_of_a_corpus() -> None:
    corpus = DocumentFrequencies.of(References(REFERENCES), name="three")
    alone = {2: REFERENCES[2]}
    assert CiderR(frequencies=corpus).prepare(alone).score({2: CANDIDATES[2]}).corpus["CIDEr-R"] > 0
    with pytest.warns(CapevalWarning, match="CIDEr-R of one image is 0 by definition"):
        prepared = CiderR().prepare(alone)
    assert prepared.score({2: CANDIDATES[2]}).corpus == {"CIDEr-R": 0.0}


def test_without_repetition_and_with_equal_lengths_it_is_cider_d() -> None:
    references = {1: ["a dog runs far"], 2: ["two cats sleep"]}
    candidates = {1: "a cat runs far", 2: "a cat sleeps"}
    tokens = Tokenizer(kind="none")
    scores = [
        metric.prepare(references, tokenizer=tokens).score(candidates).per_image[metric.family].tolist()
        for metric in (CiderR(), CiderD())
    ]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)
