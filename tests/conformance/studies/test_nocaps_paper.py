"""The nocaps paper: n-grams, human captions and the protocol on real data."""

from __future__ import annotations

import pytest

from capeval.datasets import coco, nocaps
from capeval.studies.nocaps_paper import study_nocaps_paper
from capeval.studies.nocaps_paper.report import report
from capeval.studies.shared.papers import PaperPart
from tests.shared_data import shared_data


@pytest.fixture(scope="module")
def parts() -> dict[str, PaperPart]:
    path = shared_data("nocaps") / "nocaps_val_captions.json.gz"
    captions = nocaps.load_captions(path)
    domains = nocaps.load_domains(path, images=captions)
    study = study_nocaps_paper(captions, domains, ["CIDEr-D"], coco=coco.load_captions("val2014"))
    return {part.name: part for part in report(study).parts}


def test_unique_ngrams(parts: dict[str, PaperPart]) -> None:
    assert parts["Table 1"].outcome == "met (9 of 9)"
    counts = [value.computed for value in parts["Table 1"].values if value.name.endswith("nocaps")]
    assert counts == pytest.approx([8287, 59_659, 116_546, 144_394], abs=1)


def test_words_per_caption(parts: dict[str, PaperPart]) -> None:
    assert parts["Figure 2"].outcome == "met (2 of 2), 7 not computed"


def test_human_captions(parts: dict[str, PaperPart]) -> None:
    assert parts["Table 2, human row"].outcome == "met (4 of 4), 4 not computed"
    scores = {value.name: value.computed for value in parts["Table 2, human row"].values}
    assert scores["CIDEr-D, overall"] == pytest.approx(86.22, abs=0.01)


def test_the_protocol(parts: dict[str, PaperPart]) -> None:
    assert parts["Protocol"].outcome == "met (15 of 15)"
