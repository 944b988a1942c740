"""Flickr8K-Expert: the correlations that others published, from the real ratings."""

from __future__ import annotations

import json

import pytest

from capeval.formats.ratings import load_flickr8k_expert
from capeval.studies.correlation import RatedScores, correlate, score_ratings
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
    found = correlate(rated, samples=10)
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
    scored = score_ratings(references, ratings, ["CIDEr-D"], frequencies="references")
    found = correlate(scored, samples=10).values["CIDEr-D"]
    assert 100 * found["tau-b"].score == pytest.approx(43.541, abs=0.0006)


def test_own_captions_change_them() -> None:
    folder = shared_data("flickr8k")
    references, ratings = load_flickr8k_expert(
        folder / "ExpertAnnotations.txt.gz", folder / "Flickr8k.token.txt.gz", own=True
    )
    assert len(ratings.captions) == 5822
    found = correlate(score_ratings(references, ratings, ["BLEU-1"]), samples=10).values["BLEU-1"]
    assert found["tau-b"].score > 0.33


def test_cider_beats_meteor_by_rank_and_not_by_pearson(rated: RatedScores) -> None:
    found = correlate(rated, samples=200).compare("CIDEr-D", "METEOR")
    assert found["tau-b"].p_value < 0.02
    assert found["Pearson"].p_value > 0.2
