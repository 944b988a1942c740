"""COCO and nocaps val: the paper's counts of unique n-grams, from the real captions."""

from __future__ import annotations

import pytest

from capeval.datasets import coco, nocaps
from capeval.datasets.published import UNIQUE_NGRAMS
from capeval.studies.diversity import DiversityOptions, diversity
from tests.shared_data import shared_data


def test_nocaps_gives_the_published_counts() -> None:
    captions = nocaps.load_captions(shared_data("nocaps") / "nocaps_val_captions.json.gz")
    found = diversity({"nocaps": captions})["nocaps"]
    # The samples of the paper are not known; those here differ by up to 0.2 %.
    assert found.unique.mean(axis=0) == pytest.approx(UNIQUE_NGRAMS.values["nocaps"], rel=0.003)
    tokens = diversity({"nocaps": captions}, DiversityOptions(samples=2, words="reference"))["nocaps"]
    assert (tokens.unique[:, 0] > 1.008 * UNIQUE_NGRAMS.values["nocaps"][0]).all()
    across = diversity({"nocaps": captions}, DiversityOptions(samples=1, across_punctuation=True))["nocaps"]
    assert (across.unique[0, 1:] > [1.02 * count for count in UNIQUE_NGRAMS.values["nocaps"][1:]]).all()
    assert found.lengths.mean() == pytest.approx(11.26, abs=0.05)


@pytest.mark.conformance
def test_coco_is_within_chance_of_the_published_counts() -> None:
    found = diversity({"COCO": coco.load_captions("val2014")}, DiversityOptions(samples=20))["COCO"]
    distance = found.unique.mean(axis=0) - UNIQUE_NGRAMS.values["COCO"]
    assert (abs(distance) < found.unique.std(axis=0, ddof=1)).all()
    assert found.lengths.mean() == pytest.approx(10.46, abs=0.05)
