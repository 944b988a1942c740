"""People against people on COCO, nocaps and ABSTRACT-50S."""

import numpy as np
import pytest

from capeval.datasets import coco
from capeval.datasets.published import COCO_HUMAN
from capeval.formats import load_references
from capeval.studies.human import HumanOptions, human_performance
from tests.shared_data import shared_data

METRICS = ("BLEU", "ROUGE-L", "CIDEr-D")


def test_one_draw_is_as_far_from_the_demos_as_draws_are_apart() -> None:
    """pycocoevalcap 1.2 gives these to one caption of each image held out, drawn by another seed."""
    expected = {"BLEU-1": 0.630, "BLEU-2": 0.435, "BLEU-3": 0.292, "BLEU-4": 0.194}
    (made,) = human_performance(coco.load_captions("val2014"), ["BLEU"], HumanOptions(draws=1))
    assert dict(zip(made.names, made.mean.tolist(), strict=True)) == pytest.approx(expected, abs=0.003)


@pytest.mark.conformance
def test_coco_draws_nears_the_papers_row_with_more_references() -> None:
    made = human_performance(
        coco.load_captions("val2014"), METRICS, HumanOptions(references=(1, 2, 3, 4), draws=3)
    )
    paper = np.array([COCO_HUMAN.values[name] for name in made[0].names])
    off = np.array([np.abs(each.mean - paper) for each in made])
    # BLEU and ROUGE-L near it with each reference; CIDEr-D hardly depends on their number.
    assert (np.diff(off[:, :-1], axis=0) < 0).all()
    assert (off[:, -1] < 0.02).all()
    assert all((each.spread < 0.006).all() for each in made)


def test_forty_references() -> None:
    captions = load_references(shared_data("abstract50s") / "abstract48S.json.gz")
    made = human_performance(captions, METRICS, HumanOptions(references=(5, 40), draws=2))
    assert [each.references for each in made] == [5, 40]
    assert (made[1].mean > made[0].mean).all()
    # COCO's c40 row for people is 0.880 for BLEU-1; these are other images.
    assert made[1].mean[0] == pytest.approx(0.88, abs=0.02)


def test_nocaps_five_references() -> None:
    captions = load_references(shared_data("nocaps") / "nocaps_val_captions.json.gz")
    (made,) = human_performance(captions, METRICS, HumanOptions(references=(5,), draws=2))
    paper = np.array([COCO_HUMAN.values[name] for name in made.names])
    assert made.mean == pytest.approx(paper, abs=0.02)
