"""Parts of any split, in any order, add up to the whole: frequencies, statistics and sums."""

import pickle
import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval import DocumentFrequencies, Report, Tokenizer, evaluate
from capeval.data.captions import ImageId
from capeval.distributed import PartialFrequencies, Sums, build_report, build_statistics_table
from capeval.metrics import METRICS, Metric
from tests.properties.every_metric import PARSING, every_metric
from tests.properties.strategies import Corpus, corpora
from tests.twins.text import ngrams, words

TOKENS = Tokenizer(kind="none")
Groups = dict[ImageId, list[str]]


def split(images: Groups, seed: int) -> list[Groups]:
    """1 to 64 parts, none of them empty, in any order."""
    draws = random.Random(seed)
    order = draws.sample(list(images), len(images))
    cuts = sorted(draws.sample(range(1, len(order)), draws.randint(0, min(63, len(order) - 1))))
    bounds = zip([0, *cuts], [*cuts, len(order)], strict=True)
    return [{image: images[image] for image in order[start:end]} for start, end in bounds]


@pytest.mark.parametrize("stem", [False, True])
@given(corpus=corpora(max_images=70), seed=st.integers(0, 2**32))
def test_counts_of_parts_are_those_of_the_whole(stem: bool, corpus: Corpus, seed: int) -> None:
    images: Groups = dict(enumerate(corpus.references))
    whole = DocumentFrequencies.of(images, tokenizer=TOKENS, stem=stem)
    parts = [PartialFrequencies.of(part, tokenizer=TOKENS, stem=stem) for part in split(images, seed)]
    added = sum(parts[1:], start=parts[0])
    tables = pa.concat_tables([part.to_arrow() for part in parts])
    by_engine = tables.group_by("ngram").aggregate([("images", "sum")]).rename_columns(["ngram", "images"])
    for counted in (
        added,
        sum(parts),
        pickle.loads(pickle.dumps(added)),
        PartialFrequencies.from_arrow(tables),
        PartialFrequencies.from_arrow(by_engine),
        PartialFrequencies.from_arrow(added.to_arrow()),
    ):
        assert isinstance(counted, PartialFrequencies)
        finished = counted.finish()
        assert (counted.images, finished.images, finished.stem) == (len(images), len(images), stem)
        assert finished.counts() == whole.counts()
        assert finished.digest == whole.digest


@given(corpus=corpora())
def test_every_ngram_is_counted(corpus: Corpus) -> None:
    plainly: Counter[str] = Counter()
    for group in corpus.references:
        every = (each for text in group for n in range(1, 5) for each in ngrams(words(text), n))
        plainly.update({" ".join(each) for each in every})
    table = PartialFrequencies.of(dict(enumerate(corpus.references)), tokenizer=TOKENS).to_arrow()
    (_, images), *rows = zip(*table.to_pydict().values(), strict=True)
    assert images == len(corpus.references)
    assert dict(rows) == plainly
    assert len(rows) == len(plainly)


def of_parts(name: str, corpus: Corpus, seed: int) -> tuple[Metric, Report, list[Report]]:
    """The metric with the frequencies of all, the report of all images, and those of the parts of a split."""
    metric = METRICS[name]()
    if name in PARSING:
        corpus = corpus.of_words(7)
    images: Groups = dict(enumerate(corpus.references))
    frequencies = PartialFrequencies.of(
        images, tokenizer=TOKENS, stem=metric.frequency_unit == "stems"
    ).finish()
    weighed = metric.with_document_frequencies(frequencies)

    def report(part: Groups) -> Report:
        candidates = {image: corpus.candidates[int(image)] for image in part}
        return evaluate(part, candidates, [weighed], tokenizer=TOKENS)

    return weighed, report(images), [report(part) for part in split(images, seed)]


@every_metric
@given(corpus=corpora(max_images=12), seed=st.integers(0, 2**32))
def test_sums_of_parts_score_as_the_whole(name: str, corpus: Corpus, seed: int) -> None:
    _, whole, reports = of_parts(name, corpus, seed)
    parts = [Sums.of(report) for report in reports]
    table = pa.concat_tables([part.to_arrow() for part in parts])
    for total in (sum(parts), sum(pickle.loads(pickle.dumps(parts))), Sums.from_arrow(table)):
        assert isinstance(total, Sums)
        assert total.corpus == pytest.approx(dict(whole.corpus), rel=1e-12, abs=1e-15, nan_ok=True)
        assert total.signatures == whole.signatures
        assert total.images == len(whole.image_ids)


@every_metric
@given(corpus=corpora(max_images=12), seed=st.integers(0, 2**32))
def test_rows_of_parts_are_those_of_the_whole(name: str, corpus: Corpus, seed: int) -> None:
    weighed, whole, reports = of_parts(name, corpus, seed)
    table = pa.concat_tables([build_statistics_table(report) for report in reports])
    again = build_report(table, [weighed], tokenizer=TOKENS)
    assert again.signatures == whole.signatures
    assert again.corpus == pytest.approx(dict(whole.corpus), rel=1e-12, abs=1e-15, nan_ok=True)
    order = [whole.image_ids.index(image) for image in again.image_ids]
    ((_, ours),), ((_, theirs),) = again.scores, whole.scores
    np.testing.assert_array_equal(ours.statistics, theirs.statistics[order])
    intervals = again.with_intervals(samples=10).intervals
    assert intervals.keys() == whole.corpus.keys()
