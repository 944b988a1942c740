"""Invariances and bounds that hold for every registered metric."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from capeval import Bleu, Candidates, References, RougeL, RougeS, Tokenizer
from capeval.metrics import METRICS, Metric, Prepared
from capeval.scoring.evaluator import evaluate
from tests.properties.every_metric import NAMES, PARSING, every_metric
from tests.properties.strategies import UNSEEN, WORDS, Corpus, captions, corpora
from tests.spice_model import IS_HERE, NEEDS_MODEL

TOKENS = Tokenizer(kind="none")
PARSED_WORDS = 7


def test_some_metric_is_registered() -> None:
    assert METRICS


def fitting(name: str, corpus: Corpus) -> Corpus:
    """The corpus, cut short where captions are parsed."""
    return corpus.of_words(PARSED_WORDS) if name in PARSING else corpus


def prepared(name: str, references: list[list[str]]) -> Prepared:
    return METRICS[name]().prepare(References(dict(enumerate(references))), tokenizer=TOKENS)


def rows(prepared: Prepared, candidates: dict[int, str]) -> NDArray[np.float64]:
    return prepared.score(Candidates(candidates)).statistics


# SPICE merges the references' graphs one after the other: see `test_order.py` of its conformance tests.
@pytest.mark.parametrize("name", [name for name in NAMES if name not in PARSING])
@given(corpus=corpora(), seed=st.integers(0, 2**32))
def test_the_order_of_references_changes_nothing(name: str, corpus: Corpus, seed: int) -> None:
    corpus = fitting(name, corpus)
    shuffled = [random.Random(seed).sample(group, len(group)) for group in corpus.references]
    candidates = dict(enumerate(corpus.candidates))
    before = prepared(name, corpus.references).score(candidates)
    after = prepared(name, shuffled).score(candidates)
    for score, values in before.per_image.items():
        np.testing.assert_allclose(after.per_image[score], values, rtol=1e-12, atol=1e-15)
    if not METRICS[name]().first_reference_counts:
        np.testing.assert_allclose(after.statistics, before.statistics, rtol=1e-12, atol=1e-15)


@every_metric
@given(corpus=corpora(), seed=st.integers(0, 2**32))
def test_the_order_of_images_changes_no_image(name: str, corpus: Corpus, seed: int) -> None:
    corpus = fitting(name, corpus)
    order = random.Random(seed).sample(range(len(corpus.references)), len(corpus.references))
    before = rows(prepared(name, corpus.references), dict(enumerate(corpus.candidates)))
    after = rows(
        prepared(name, [corpus.references[image] for image in order]),
        {place: corpus.candidates[image] for place, image in enumerate(order)},
    )
    np.testing.assert_allclose(after, before[order], rtol=1e-12, atol=1e-15)


@every_metric
@given(corpus=corpora(), seed=st.integers(0, 2**32))
def test_a_minibatch_scores_as_the_whole(name: str, corpus: Corpus, seed: int) -> None:
    corpus = fitting(name, corpus)
    once = prepared(name, corpus.references)
    whole = rows(once, dict(enumerate(corpus.candidates)))
    batch = random.Random(seed).sample(range(len(whole)), random.Random(seed).randint(1, len(whole)))
    part = rows(once, {image: corpus.candidates[image] for image in batch})
    np.testing.assert_array_equal(part, whole[batch])
    # And it leaves nothing behind.
    np.testing.assert_array_equal(rows(once, dict(enumerate(corpus.candidates))), whole)


@every_metric
@given(corpus=corpora(max_images=4), data=st.data())
def test_several_samples_score_as_each_alone(name: str, corpus: Corpus, data: st.DataObject) -> None:
    corpus = fitting(name, corpus)
    once = prepared(name, corpus.references)
    samples = st.lists(captions(WORDS + UNSEEN), min_size=1, max_size=4)
    drawn = [data.draw(samples) for _ in corpus.references]
    several = dict(enumerate(fitting(name, Corpus(drawn, [])).references))
    scores = once.score(several)
    assert scores.image_ids == tuple(image for image, texts in several.items() for _ in texts)
    alone = [rows(once, {image: text}) for image, texts in several.items() for text in texts]
    np.testing.assert_array_equal(scores.statistics, np.concatenate(alone))


@every_metric
@given(corpus=corpora(), seed=st.integers(0, 2**32))
def test_subsets_sum_to_the_whole(name: str, corpus: Corpus, seed: int) -> None:
    corpus = fitting(name, corpus)
    scores = prepared(name, corpus.references).score(dict(enumerate(corpus.candidates)))
    choice = np.random.default_rng(seed).integers(0, 3, len(corpus.candidates))
    parts = [scores.statistics[choice == part].sum(axis=0) for part in range(3)]
    whole = METRICS[name]().aggregate(np.sum(parts, axis=0))
    np.testing.assert_allclose(whole, list(scores.corpus.values()), rtol=1e-12, atol=1e-15)


@every_metric
@given(corpus=corpora())
def test_rows_have_a_column_for_each_statistic(name: str, corpus: Corpus) -> None:
    corpus = fitting(name, corpus)
    scores = prepared(name, corpus.references).score(dict(enumerate(corpus.candidates)))
    statistics = METRICS[name]().statistics
    assert len(set(statistics)) == len(statistics) == scores.statistics.shape[1]


@every_metric
@given(corpus=corpora())
def test_scores_of_images_are_aggregates_of_their_rows(name: str, corpus: Corpus) -> None:
    corpus = fitting(name, corpus)
    scores = prepared(name, corpus.references).score(dict(enumerate(corpus.candidates)))
    assert scores.statistics.shape[0] == len(corpus.candidates)
    for row, statistics in enumerate(scores.statistics):
        alone = [values[row] for values in scores.per_image.values()]
        # Sums over orders may be rounded differently in an array and as scalars.
        np.testing.assert_allclose(METRICS[name]().aggregate(statistics), alone, rtol=1e-12)


@every_metric
@given(corpus=corpora())
def test_scores_are_finite_and_not_negative(name: str, corpus: Corpus) -> None:
    corpus = fitting(name, corpus)
    metric = METRICS[name]()
    scores = prepared(name, corpus.references).score(dict(enumerate(corpus.candidates)))
    defined = np.ones(len(corpus.candidates), dtype=bool)
    if getattr(metric, "categories", ("All",)) != ("All",):
        # A category of SPICE has no score if the references have no tuple of it.
        defined = scores.statistics[:, 1] > 0
    for values in scores.per_image.values():
        assert np.isnan(values[~defined]).all()
        assert np.isfinite(values[defined]).all()
        assert (values[defined] >= 0).all()


@every_metric
@given(corpus=corpora())
def test_subsets_of_a_report_are_their_images(name: str, corpus: Corpus) -> None:
    corpus = fitting(name, corpus)
    images = list(range(len(corpus.candidates)))
    report = evaluate(
        dict(enumerate(corpus.references)),
        dict(enumerate(corpus.candidates)),
        [name],
        subsets={"all": images, "first": images[:1]},
        tokenizer=TOKENS,
    )
    assert report.subsets["all"] == pytest.approx(report.corpus, rel=1e-12, abs=1e-15, nan_ok=True)
    for score, value in report.subsets["first"].items():
        assert value == pytest.approx(report.per_image[score][0], rel=1e-12, abs=1e-15, nan_ok=True)


# Document frequencies change when images are repeated; the other metrics look at one image at a time.
ONE_IMAGE_AT_A_TIME = [
    Bleu(level="sentence"),
    *(
        pytest.param(metric, marks=[NEEDS_MODEL] if name in PARSING else [])
        for name in NAMES
        if (metric := METRICS[name]()).document_frequencies is None
    ),
]


@pytest.mark.parametrize("metric", ONE_IMAGE_AT_A_TIME, ids=str)
@given(corpus=corpora())
def test_repeating_all_images_changes_no_score(metric: Metric, corpus: Corpus) -> None:
    corpus = corpus.of_words(PARSED_WORDS) if metric.docs_page == "spice" else corpus
    once = metric.prepare(dict(enumerate(corpus.references)), tokenizer=TOKENS)
    twice = metric.prepare(dict(enumerate(corpus.references * 2)), tokenizer=TOKENS)
    before = once.score(dict(enumerate(corpus.candidates)))
    after = twice.score(dict(enumerate(corpus.candidates * 2)))
    np.testing.assert_array_equal(after.statistics, np.concatenate([before.statistics] * 2))
    for name, score in before.corpus.items():
        if score > 1e-3:
            # The published BLEU adds 1e-9 to each count, which weighs half as much in twice the counts.
            assert after.corpus[name] == pytest.approx(score, rel=1e-6)
        else:
            # It may have no score, before and after.
            assert not after.corpus[name] > 1e-3


@given(corpus=corpora(), whole=st.lists(st.sampled_from(WORDS), min_size=4, max_size=80))
def test_a_reference_itself_scores_1(corpus: Corpus, whole: list[str]) -> None:
    # Captions of fewer than four words have no BLEU-4 to be 1.
    candidates = [" ".join([*whole, *group[0].split()]) for group in corpus.references]
    references = [[*group, candidate] for group, candidate in zip(corpus.references, candidates, strict=True)]
    for metric in (Bleu(), RougeL(), RougeS()):
        scores = metric.prepare(dict(enumerate(references)), tokenizer=TOKENS).score(
            dict(enumerate(candidates))
        )
        for values in (*scores.per_image.values(), list(scores.corpus.values())):
            np.testing.assert_allclose(np.asarray(values), 1.0, rtol=1e-8)


# Each example computes all metrics twice.
@settings(max_examples=8)
@given(corpus=corpora())
def test_all_metrics_in_one_report_score_as_each_alone(corpus: Corpus) -> None:
    corpus = corpus.of_words(PARSED_WORDS)
    names: list[str] = []
    for name, make in METRICS.items():
        if make().missing_options or (name in PARSING and not IS_HERE):
            continue
        # One report has each score once: BLEU includes BLEU-1 to BLEU-4.
        if not {*make().names} & {score for other in names for score in METRICS[other]().names}:
            names.append(name)
    references, candidates = dict(enumerate(corpus.references)), dict(enumerate(corpus.candidates))
    together = evaluate(references, candidates, names, tokenizer=TOKENS)
    for name in names:
        alone = evaluate(references, candidates, [name], tokenizer=TOKENS)
        np.testing.assert_equal({score: together.corpus[score] for score in alone.corpus}, dict(alone.corpus))
