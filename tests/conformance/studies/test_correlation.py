"""Flickr8K, its experts and CrowdFlower: the correlations that others published, from the real ratings."""

from __future__ import annotations

import json

import pytest

from capeval.datasets.flickr8k import load_flickr8k, load_flickr8k_expert
from capeval.studies.correlation import CorrelationOptions, RatedScores, correlate, score_ratings
from tests.shared_data import shared_data

# The published names and ours.
NAMES = {"BLEU-1": "BLEU-1", "BLEU-4": "BLEU-4", "METEOR": "METEOR", "ROUGE": "ROUGE-L", "CIDER": "CIDEr-D"}


@pytest.fixture(scope="module")
def rated() -> RatedScores:
    folder = shared_data("flickr8k")
    references, ratings = load_flickr8k_expert(
        folder / "ExpertAnnotations.txt.gz", folder / "Flickr8k.token.txt.gz"
    )
    assert len(ratings.captions) == 5664
    return score_ratings(references, ratings)


def test_published_correlations_are_met(rated: RatedScores) -> None:
    published = json.loads((shared_data("flickr8k") / "published_expert_correlations.json").read_text())
    found = correlate(rated, CorrelationOptions(samples=10))
    assert found.observations == 16_992
    assert set(published["flickr8k_expert"]) == set(NAMES)
    for name, (tau_b, tau_c) in published["flickr8k_expert"].items():
        ours = found.values[NAMES[name]]
        # Published to three decimals, and met to three.
        assert 100 * ours["tau-b"].score == pytest.approx(tau_b, abs=0.0006), name
        assert 100 * ours["tau-c"].score == pytest.approx(tau_c, abs=0.0006), name


def test_document_frequencies_of_images_do_not_meet_them() -> None:
    folder = shared_data("flickr8k")
    references, ratings = load_flickr8k_expert(
        folder / "ExpertAnnotations.txt.gz", folder / "Flickr8k.token.txt.gz"
    )
    scored = score_ratings(references, ratings, ["CIDEr-D"], CorrelationOptions(frequencies="references"))
    found = correlate(scored, CorrelationOptions(samples=10)).values["CIDEr-D"]
    assert 100 * found["tau-b"].score == pytest.approx(43.541, abs=0.0006)


def test_own_captions_change_them() -> None:
    folder = shared_data("flickr8k")
    references, ratings = load_flickr8k_expert(
        folder / "ExpertAnnotations.txt.gz", folder / "Flickr8k.token.txt.gz", own=True
    )
    assert len(ratings.captions) == 5822
    found = correlate(score_ratings(references, ratings, ["BLEU-1"]), CorrelationOptions(samples=10)).values[
        "BLEU-1"
    ]
    assert found["tau-b"].score > 0.33


def test_cider_beats_meteor_by_rank_and_not_by_pearson(rated: RatedScores) -> None:
    found = correlate(rated, CorrelationOptions(samples=200)).compare("CIDEr-D", "METEOR")
    assert found["tau-b"].p_value < 0.02
    assert found["Pearson"].p_value > 0.2


# Times 100, as the README of aimagelab/pacscore (commit bfbc488e) has them under `flickr8k_cf`: tau-b, tau-c.
CROWDFLOWER = {
    "BLEU-1": (17.946, 9.256),
    "BLEU-4": (16.863, 8.710),
    "METEOR": (22.269, 11.510),
    "ROUGE-L": (19.903, 10.274),
    "CIDEr-D": (24.619, 12.724),
}


def test_published_correlations_with_crowdflower_are_met() -> None:
    folder = shared_data("flickr8k")
    references, ratings = load_flickr8k(
        folder / "CrowdFlowerAnnotations.txt.gz", folder / "Flickr8k.token.txt.gz"
    )
    assert (len(references), len(ratings.captions)) == (1000, 47_830)
    found = correlate(score_ratings(references, ratings), CorrelationOptions(samples=10))
    assert found.observations == 47_830
    for name, (tau_b, tau_c) in CROWDFLOWER.items():
        # Published to three decimals, and met to three.
        assert 100 * found.values[name]["tau-b"].score == pytest.approx(tau_b, abs=0.0006), name
        assert 100 * found.values[name]["tau-c"].score == pytest.approx(tau_c, abs=0.0006), name
