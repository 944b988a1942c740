"""Document frequencies that stay in partitions by n-gram: a recipe of `docs/how-to/distributed.md`."""

import random
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest

from capeval import Cider2015, CiderD, DocumentFrequencies, Report, Tokenizer, evaluate
from capeval.data.captions import ImageId
from capeval.datasets import coco
from capeval.distributed import PartialFrequencies, Sums
from capeval.metrics import Metric

ALONE = Tokenizer(context="caption")
IMAGES, PARTS, PARTITIONS = 600, 7, 5
Part = tuple[dict[ImageId, list[str]], dict[ImageId, str]]


@pytest.fixture(scope="module")
def parts() -> list[Part]:
    """Images of COCO in a random order: the first caption of each is the candidate."""
    captions = coco.load_captions("val2014")
    order = random.Random(3).sample(captions.image_ids, IMAGES)
    cuts = [order[start::PARTS] for start in range(PARTS)]
    return [
        ({image: captions[image][1:] for image in cut}, {image: captions[image][0] for image in cut})
        for cut in cuts
    ]


def partition(ngram: str) -> int:
    return crc32(ngram.encode()) % PARTITIONS


def partitions_of(table: pa.Table) -> list[pa.Table]:
    places = [partition(ngram) for ngram in table["ngram"].to_pylist()]
    return [table.filter(pa.array([place == wanted for place in places])) for wanted in range(PARTITIONS)]


def added(table: pa.Table) -> pa.Table:
    return table.group_by("ngram").aggregate([("images", "sum")]).rename_columns(["ngram", "images"])


def scored(part: Part, metric: Metric) -> Report:
    return evaluate(*part, [metric], tokenizer=ALONE)


@pytest.mark.parametrize(("kind", "stem"), [(CiderD, False), (Cider2015, True)])
def test_parts_score_with_the_frequencies_of_their_own_ngrams(
    parts: list[Part], kind: type[CiderD] | type[Cider2015], stem: bool
) -> None:
    everything = {image: group for references, _ in parts for image, group in references.items()}
    whole = DocumentFrequencies.of(everything, tokenizer=ALONE, stem=stem)
    # Each part sends the rows of its n-grams to the partitions, which add them; no place has all.
    shuffled: list[list[pa.Table]] = [[] for _ in range(PARTITIONS)]
    for references, _ in parts:
        counted = PartialFrequencies.of(references, tokenizer=ALONE, stem=stem).to_arrow()
        for place, rows in enumerate(partitions_of(counted)):
            shuffled[place].append(rows)
    partitions = [added(pa.concat_tables(tables)) for tables in shuffled]
    assert max(len(each) for each in partitions) < 0.3 * sum(len(each) for each in partitions)
    total, rows = [], {}
    for references, candidates in parts:
        captions = {image: [*group, candidates[image]] for image, group in references.items()}
        asked = PartialFrequencies.of(captions, tokenizer=ALONE, stem=stem).to_arrow().select(["ngram"])
        answers = [
            of_place.join(wanted, "ngram", join_type="inner")
            for of_place, wanted in zip(partitions, partitions_of(asked), strict=True)
        ]
        selected = PartialFrequencies.from_arrow(pa.concat_tables(answers)).finish("all", digest="count-1")
        assert len(selected.counts()) < 0.6 * len(whole.counts())
        report = scored((references, candidates), kind(frequencies=selected))
        total.append(Sums.of(report))
        rows |= dict(zip(report.image_ids, report.scores[0][1].statistics, strict=True))
    expected = scored(
        (everything, {image: text for _, candidates in parts for image, text in candidates.items()}),
        kind(frequencies=whole),
    )
    for image, row in zip(expected.image_ids, expected.scores[0][1].statistics, strict=True):
        np.testing.assert_array_equal(rows[image], row)
    assert sum(total[1:], start=total[0]).corpus == pytest.approx(dict(expected.corpus), rel=1e-12)
