"""The native metrics give what their plain-Python twins give."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capeval import Bleu, Cider, CiderD, DocumentFrequencies, References, RougeL, RougeN, RougeS, Tokenizer
from capeval.metrics import METRICS, Meteor, Metric
from tests.properties.strategies import UNSEEN, WORDS, Corpus, corpora
from tests.twins import cider
from tests.twins.scoring import TWINS, native, twin


def _other_corpus() -> DocumentFrequencies:
    corpus = {0: ["a dog runs", "the dog"], 1: ["a dog runs", "a a café"], 2: ["the dogs on the 25\u00a01/2"]}
    return DocumentFrequencies.of(References(corpus), tokenizer=Tokenizer(kind="none"))


def _metrics() -> Iterator[Metric]:
    for brevity in ("closest", "shortest", "average", "none"):
        yield Bleu(brevity=brevity)
        yield Bleu(brevity=brevity, level="sentence")
    yield Bleu(orders=(4, 2))
    for beta in (0.5, 1.2, 3.0):
        yield RougeL(beta=beta)
    for n in range(1, 5):
        yield RougeN(n=n)
    for distance in (1, 4, None):
        yield RougeS(distance=distance)
    yield RougeS(beta=2.0)
    for frequencies in ("references", "uniform", _other_corpus()):
        for form in ("code", "paper"):
            yield CiderD(form=form, frequencies=frequencies)
        yield Cider(frequencies=frequencies, stem=False)
        yield Cider(pooling="max", frequencies=frequencies, stem=False)
    for n in range(1, 5):
        yield CiderD(n=n, sigma=2.0)
        yield CiderD(order=n, form="paper")
        yield Cider(n=n)
        yield Cider(order=n)
    yield Cider(weights="exponential")
    yield Cider(pooling="max", weights="exponential")
    yield Cider(frequencies="uniform")


METRIC_CASES = list(_metrics())


@pytest.mark.parametrize("metric", METRIC_CASES, ids=str)
@given(corpus=corpora())
def test_native_equals_twin(metric: Metric, corpus: Corpus) -> None:
    ours, theirs = (
        native(metric, corpus.references, corpus.candidates),
        twin(metric, corpus.references, corpus.candidates),
    )
    assert ours.corpus == pytest.approx(theirs.corpus, rel=1e-12, abs=1e-12)
    for name, mine, plain in zip(metric.names, ours.per_image, theirs.per_image, strict=True):
        assert mine == pytest.approx(plain, rel=1e-12, abs=1e-12), name


@given(corpus=corpora())
def test_document_frequencies_equal_the_twin(corpus: Corpus) -> None:
    references = References(dict(enumerate(corpus.references)))
    counted = DocumentFrequencies.of(references, tokenizer=Tokenizer(kind="none"))
    # One image weighs as none does, so n-grams of one image are not kept.
    twin_counts = cider.document_frequencies(corpus.references).items()
    assert counted.counts() == {ngram: count for ngram, count in twin_counts if count > 1}
    assert counted.images == len(corpus.references)


NGRAMS = st.lists(st.sampled_from([*WORDS, *UNSEEN, "elsewhere"]), min_size=1, max_size=4).map(tuple)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    corpus=corpora(),
    counts=st.dictionaries(NGRAMS, st.integers(0, 9), min_size=1),
    images=st.sampled_from([1, 2.5, 9, 40_504]),
)
def test_frequencies_of_any_pickle(
    corpus: Corpus, counts: dict[tuple[str, ...], int], images: float, tmp_path: Path
) -> None:
    # An n-gram may be there without the shorter ones in it, or in more images than there are.
    path = tmp_path / "df.p"
    path.write_bytes(pickle.dumps(counts))
    frequencies = DocumentFrequencies.load_pickle(path, images=images)
    ours = native(CiderD(frequencies=frequencies), corpus.references, corpus.candidates)
    weights = cider.Weights(counts, images)
    for candidate, group, score in zip(corpus.candidates, corpus.references, ours.per_image[0], strict=True):
        similarities = cider.cider_d(candidate, group, weights, n=4, sigma=6.0, form="code")
        assert score == pytest.approx(10 * cider.combined(similarities, None), rel=1e-12, abs=1e-12)


def test_every_metric_has_a_twin_and_a_case() -> None:
    # METEOR and its twin are compared in tests/conformance/meteor.
    registered = {type(make()) for make in METRICS.values()} - {Meteor}
    assert registered, "no metric is registered"
    assert registered - set(TWINS) == set(), "these metrics have no plain-Python twin"
    assert registered - {type(metric) for metric in METRIC_CASES} == set()
