"""The native metrics give what their plain-Python twins give."""

from collections.abc import Iterator

import pytest
from hypothesis import given

from capeval import Bleu, Cider, CiderD, DocumentFrequencies, References, RougeL, RougeN, RougeS, Tokenizer
from capeval.metrics import METRICS, Meteor, Metric
from tests.properties.strategies import Corpus, corpora
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


def test_every_metric_has_a_twin_and_a_case() -> None:
    # METEOR's twin is the Java program: tests/conformance/meteor compares with it.
    registered = {type(make()) for make in METRICS.values()} - {Meteor}
    assert registered, "no metric is registered"
    assert registered - set(TWINS) == set(), "these metrics have no plain-Python twin"
    assert registered - {type(metric) for metric in METRIC_CASES} == set()
