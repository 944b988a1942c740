"""The native metrics and their plain-Python twins return the same scores."""

import pickle
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capeval import CiderD, DocumentFrequencies, References, Tokenizer
from capeval.metrics import CLASSES, Metric
from tests.properties.strategies import UNSEEN, WORDS, Corpus, corpora
from tests.twins import cider
from tests.twins.scoring import native, twin

PAGES = sorted({metric.docs_page for metric in CLASSES.values()})
MODULES = {page: import_module(f"tests.twins.{page}") for page in PAGES}
METRIC_CASES: list[Metric] = [
    case for module in MODULES.values() if not hasattr(module, "COMPARED_IN") for case in module.CASES
]


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


@pytest.mark.filterwarnings("ignore:the document frequencies of df contain nearly no pair of words")
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


@pytest.mark.parametrize("metric", CLASSES.values(), ids=list(CLASSES))
def test_every_metric_has_a_twin_and_a_case(metric: type[Metric]) -> None:
    twins = MODULES[metric.docs_page]
    if hasattr(twins, "COMPARED_IN"):
        tests = Path(__file__).parents[1] / twins.COMPARED_IN
        assert "def test_" in tests.read_text(encoding="utf-8")
        return
    assert metric in twins.TWINS, f"{metric.__name__} has no plain-Python twin"
    assert metric in {type(case) for case in METRIC_CASES}
