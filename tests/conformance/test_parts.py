"""COCO val2014 in shuffled parts: the rows of one process, bit by bit, and its corpus scores within 1e-12."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from capeval import Candidates, CiderD, References, Report, Spider, Tokenizer, evaluate
from capeval.data.held_out import hold_out
from capeval.datasets import coco
from capeval.distributed import PartialFrequencies, Sums, build_report, build_statistics_table
from capeval.metrics import Metric
from tests.spice_model import NEEDS_MODEL

ALONE = Tokenizer(context="caption")
PARTS = 8


def check(
    references: References, candidates: Candidates, metrics: Sequence[str | type[CiderD | Spider]]
) -> None:
    order = random.Random(14).sample(references.image_ids, len(references))
    parts = [order[start::PARTS] for start in range(PARTS)]
    counted = [PartialFrequencies.of(references.select(part), tokenizer=ALONE) for part in parts]
    frequencies = sum(counted[1:], start=counted[0]).finish()
    weighed: list[str | Metric] = [
        each if isinstance(each, str) else each(frequencies=frequencies) for each in metrics
    ]

    def report(images: Sequence[int | str]) -> Report:
        return evaluate(references.select(images), candidates.select(images), weighed, tokenizer=ALONE)

    whole, reports = report(references.image_ids), [report(part) for part in parts]
    added = Sums.from_arrow(pa.concat_tables([Sums.of(part).to_arrow() for part in reports]))
    assert added.corpus == pytest.approx(dict(whole.corpus), rel=1e-12)
    assert added.signatures == whole.signatures
    again = build_report(
        pa.concat_tables([build_statistics_table(part) for part in reports]), weighed, tokenizer=ALONE
    )
    assert again.signatures == whole.signatures
    places = {image: place for place, image in enumerate(whole.image_ids)}
    rows = [places[image] for image in again.image_ids]
    for (_, ours), (_, theirs) in zip(again.scores, whole.scores, strict=True):
        np.testing.assert_array_equal(ours.statistics, theirs.statistics[rows])
    # The frequencies of all references, as the metrics would count them by themselves.
    names = [each if isinstance(each, str) else each.__name__ for each in metrics]
    if "CiderD" in names:
        alone = evaluate(references, candidates, ["CIDEr-D"], tokenizer=ALONE)
        np.testing.assert_array_equal(whole.per_image["CIDEr-D"], alone.per_image["CIDEr-D"])


@pytest.mark.conformance
def test_val2014_in_parts() -> None:
    check(*hold_out(coco.load_captions("val2014"), seed=0), ["BLEU", "METEOR", "ROUGE-L", CiderD])


@NEEDS_MODEL
@pytest.mark.conformance
def test_spice_in_parts() -> None:
    captions = coco.load_captions("val2014")
    check(*hold_out(captions.select(captions.image_ids[:400]), seed=0), ["SPICE", Spider])
