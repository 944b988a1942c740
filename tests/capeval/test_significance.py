"""Confidence intervals and significance tests: results computed by hand and simulated coverage."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import norm, permutation_test, t

from capeval import Cider2015, RougeL, Tokenizer
from capeval.errors import CaptionError, MismatchError, OptionError
from capeval.metrics import Metric
from capeval.scoring.comparisons import Method
from capeval.scoring.evaluator import evaluate
from capeval.scoring.intervals import compute_t_quantile, compute_t_tail
from capeval.scoring.paired_tests import _randomize
from capeval.scoring.report import Report
from capeval.scoring.significance import (
    BootstrapScore,
    Resampler,
    bootstrap,
    compare,
    difference,
    format_p_value,
    is_significant,
    resample,
)
from tests.properties.strategies import Corpus, corpora
from tests.twins import significance as twin

METHODS: list[Method] = ["bootstrap", "randomization"]
EACH_METHOD = pytest.mark.parametrize("method", METHODS)


def hits(right: list[bool], *, ids: list[int] | None = None) -> Report:
    """Return a report with a ROUGE-L of 1 for the images that are right and 0 for the others."""
    images = list(range(len(right))) if ids is None else ids
    candidates = {image: "a" if yes else "b" for image, yes in zip(images, right, strict=True)}
    references = {image: ["a"] for image in images}
    return evaluate(references, candidates, ["ROUGE-L"], tokenizer=Tokenizer(kind="none"))


def test_one_image_has_no_spread() -> None:
    interval = bootstrap(hits([True]))["ROUGE-L"]
    assert (interval.low, interval.score, interval.high) == (1, 1, 1)
    assert (interval.level, interval.samples, interval.seed) == (0.95, 1000, 0)


def test_two_images_have_three_resamples() -> None:
    # The mean of a resample is 0, 1/2 or 1 with probabilities 1/4, 1/2 and 1/4.
    report = hits([True, False])
    for level in (0.95, 0.4):
        interval = bootstrap(report, level=level)["ROUGE-L"]
        assert (interval.low, interval.score, interval.high) == (0, 0.5, 1)
    narrow = bootstrap(report, level=0.2)["ROUGE-L"]
    assert (narrow.low, narrow.high) == (0.5, 0.5)


def test_the_interval_is_as_wide_as_theory_says() -> None:
    right = [True] * 300 + [False] * 100
    interval = bootstrap(hits(right), samples=4000)["ROUGE-L"]
    error = math.sqrt(0.75 * 0.25 / 400)
    assert interval.low == pytest.approx(0.75 - 1.96 * error, abs=0.004)
    assert interval.high == pytest.approx(0.75 + 1.96 * error, abs=0.004)


@EACH_METHOD
def test_the_same_candidates_have_p_1(method: Method) -> None:
    report = hits([True, False, True, True])
    comparison = compare(report, report, method=method)["ROUGE-L"]
    assert (comparison.difference, comparison.low, comparison.high, comparison.p_value) == (0, 0, 0, 1)


def test_always_better_on_three_images() -> None:
    better, worse = hits([True] * 3), hits([False] * 3)
    # Of the 8 ways to swap, the one that swaps none and the one that swaps all are as extreme.
    swapped = compare(better, worse)["ROUGE-L"]
    assert swapped.is_exact
    assert (swapped.p_value, swapped.smallest_p_value) == (2 / 8, 2 / 8)
    assert math.isnan(swapped.detectable)
    assert format_p_value(swapped) == "0.2500"
    # No resample of the images has another difference than 1.
    paired = compare(better, worse, method="bootstrap", samples=999)["ROUGE-L"]
    assert (paired.a, paired.b, paired.difference, paired.low, paired.high) == (1, 0, 1, 1, 1)
    assert paired.p_value == paired.smallest_p_value
    assert paired.p_value == pytest.approx(2 * t.sf(norm.isf(1 / 1000) * math.sqrt(2 / 3), 2))


def test_the_smallest_p_value_of_drawn_swaps() -> None:
    better, worse = hits([True] * 20), hits([False] * 20)
    found = compare(better, worse, samples=999)["ROUGE-L"]
    assert (found.p_value, found.smallest_p_value, found.is_exact) == (1 / 1000, 1 / 1000, False)
    assert format_p_value(found) == "≤0.001"
    assert format_p_value(replace(found, p_value=1 / 1001)) == "<0.001"
    assert format_p_value(replace(found, p_value=1 / 101, smallest_p_value=1 / 101)) == "<0.01"


def test_p_values_with_few_decimals() -> None:
    found = compare(hits([True] * 40), hits([False] * 40), samples=99_999)["ROUGE-L"]
    assert format_p_value(found) == "<0.0001"
    assert format_p_value(found, digits=2) == "<0.01"
    assert format_p_value(replace(found, p_value=0.0125), digits=2) == "0.01"
    assert format_p_value(replace(found, p_value=0.0125)) == "0.0125"


def test_p_values_of_one() -> None:
    one_image = compare(hits([True]), hits([False]), method="bootstrap")["ROUGE-L"]
    assert (one_image.p_value, format_p_value(one_image)) == (1.0, "1.0000")
    many = compare(hits([True] * 40), hits([False] * 40))["ROUGE-L"]
    corrected = replace(many, corrected_p_value=1.0)
    assert format_p_value(corrected, is_corrected=True) == "1.0000"


def test_significance_includes_the_level() -> None:
    assert is_significant(0.05)
    assert not is_significant(0.0501)
    assert is_significant(0.1, level=0.9)
    assert not is_significant(math.nan)


@pytest.mark.parametrize("images", [5, 8, 16, 40])
def test_larger_differences_than_the_detectable_one_are_significant(images: int) -> None:
    generator = random.Random(images)
    a = hits([generator.random() < 0.7 for _ in range(images)])
    b = hits([generator.random() < 0.4 for _ in range(images)])
    found = compare(a, b)["ROUGE-L"]
    if math.isnan(found.detectable):
        assert found.smallest_p_value > 0.05
    else:
        assert (abs(found.difference) > found.detectable + 1e-9) == (found.p_value <= 0.05)


def test_an_undefined_difference_has_no_p_value() -> None:
    found = compare(hits([True] * 3), hits([False] * 3))["ROUGE-L"]
    undefined = replace(found, a=math.nan, difference=math.nan)
    for is_exact in (True, False):
        tested = _randomize(undefined, math.nan, np.array([0.0, 1.0, math.nan]), is_exact=is_exact)
        assert math.isnan(tested.p_value)
        assert not tested.is_significant
        assert format_p_value(tested) == "-"


def test_few_images_are_noted() -> None:
    few, many = hits([True] * 29), hits([True] * 30)
    assert compare(few, few).notes == (
        "Only 29 images: with fewer than 30, intervals are unreliable, and tests find only"
        " large differences.",
    )
    assert compare(many, many).notes == ()


def test_the_t_distribution_equals_that_of_scipy() -> None:
    for freedom in (*range(1, 40), 99, 1000, 40503):
        for value in (0, 0.1, 0.5, 1, 1.96, 3, 5):
            assert compute_t_tail(value, freedom) == pytest.approx(t.sf(value, freedom), abs=1e-11)
        for tail in (0.025, 0.05, 0.005):
            assert compute_t_quantile(tail, freedom) == pytest.approx(t.isf(tail, freedom), rel=1e-10)


def test_the_exact_test_of_means_equals_that_of_scipy() -> None:
    generator = random.Random(3)
    right = [[generator.random() < part for _ in range(9)] for part in (0.8, 0.4)]
    rows = np.array(right, dtype=float)
    theirs = permutation_test(
        (rows[0] - rows[1],), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert compare(*map(hits, right))["ROUGE-L"].p_value == pytest.approx(theirs.pvalue)


@EACH_METHOD
def test_turning_the_systems_round_turns_the_difference_round(method: Method) -> None:
    a, b = hits([True, True, False, True, False, True]), hits([True, False, False, True, True, False])
    ab, ba = (compare(*pair, method=method)["ROUGE-L"] for pair in ((a, b), (b, a)))
    assert ab.p_value == ba.p_value
    assert (ab.difference, ab.low, ab.high) == pytest.approx((-ba.difference, -ba.high, -ba.low))


def _systems(metrics: list[str]) -> tuple[Report, Report]:
    generator = random.Random(7)
    words = ["a", "dog", "cat", "runs", "on", "grass"]
    texts = [" ".join(generator.choices(words, k=7)) for _ in range(80)]
    references = {image: texts[2 * image : 2 * image + 2] for image in range(40)}
    first = {image: " ".join(generator.choices(words, k=6)) for image in range(40)}
    second = {image: caption + " dog" for image, caption in first.items()}
    a, b = (evaluate(references, candidates, metrics) for candidates in (first, second))
    return a, b


def test_other_metrics_beside_it_change_no_interval() -> None:
    names = ["BLEU", "ROUGE-L", "ROUGE-S", "CIDEr-D", "CIDEr-2015"]
    together, backwards = (bootstrap(_systems(order)[0]) for order in (names, names[::-1]))
    assert together == backwards
    assert list(together) == ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", *names[1:]]
    for name in names[1:]:
        assert bootstrap(_systems([name])[0])[name] == together[name]


@EACH_METHOD
def test_the_seed_decides(method: Method) -> None:
    a, b = _systems(["BLEU", "CIDEr-D"])
    once, again, other = (compare(a, b, method=method, seed=seed) for seed in (3, 3, 4))
    assert once == again
    assert once != other
    assert bootstrap(a, seed=3) == bootstrap(a, seed=3) != bootstrap(a, seed=4)


def test_the_order_of_images_and_metrics_of_the_second_report_is_free() -> None:
    references = {1: ["a dog"], 2: ["a cat runs"], 3: ["grass"]}
    candidates = {1: "a dog", 2: "a cat", 3: "dog"}
    a = evaluate(references, {1: "a", 2: "cat runs", 3: "grass"}, ["ROUGE-L", "CIDEr-D"])
    b = evaluate(references, candidates, ["ROUGE-L", "CIDEr-D"])
    turned = evaluate(dict(reversed(references.items())), candidates, ["CIDEr-D", "ROUGE-L"])
    first, second = compare(a, b), compare(a, turned)
    assert list(first) == list(second)
    for name, comparison in first.items():
        assert second[name].p_value == comparison.p_value
        assert (second[name].low, second[name].high) == pytest.approx((comparison.low, comparison.high))


TWIN_METRICS: list[Metric] = [RougeL(), Cider2015(pooling="max")]


@pytest.mark.parametrize("metric", TWIN_METRICS, ids=str)
@settings(max_examples=10)
@given(corpus=corpora(max_images=5))
def test_native_sums_equal_the_twin(metric: Metric, corpus: Corpus) -> None:
    references = dict(enumerate(corpus.references))
    a = evaluate(references, dict(enumerate(corpus.candidates)), [metric])
    b = evaluate(references, {image: group[-1] for image, group in references.items()}, [metric])
    rows_a, rows_b = (report.scores[0][1].statistics.tolist() for report in (a, b))
    name = metric.names[0]

    def aggregate(row: twin.Row) -> float:
        return float(metric.aggregate(np.array(row))[0])

    def aggregate_for_tests(row: twin.Row) -> float:
        return float(metric.aggregate_for_tests(np.array(row))[0])

    values = twin.bootstrap(rows_a, aggregate, samples=50, seed=5)
    interval = bootstrap(a, samples=50, seed=5, level=0.8)[name]
    if len(rows_a) > 1:
        expected = twin.interval(rows_a, aggregate, values, 0.8)
        assert [interval.low, interval.high] == pytest.approx(expected, abs=1e-9)
        paired = compare(a, b, method="bootstrap", samples=50, seed=5)[name]
        expected_p = twin.bootstrap_p(rows_a, rows_b, aggregate, samples=50, seed=5)
        assert paired.p_value == pytest.approx(expected_p, abs=1e-11)
    if len(rows_a) > 7:
        # The twin would take long for all swaps.
        return
    swapped = compare(a, b, samples=50, seed=5)[name]
    expected_p = twin.randomization_p(rows_a, rows_b, aggregate_for_tests, samples=50, seed=5)
    assert swapped.p_value == expected_p


def test_drawn_swaps_equal_the_twin() -> None:
    a, b = _systems(["ROUGE-L"])
    metric = a.scores[0][0]
    rows_a, rows_b = (report.scores[0][1].statistics.tolist() for report in (a, b))

    def aggregate(row: twin.Row) -> float:
        return float(metric.aggregate_for_tests(np.array(row))[0])

    found = compare(a, b, samples=50, seed=5)["ROUGE-L"]
    assert found.p_value == twin.randomization_p(rows_a, rows_b, aggregate, samples=50, seed=5)


def test_many_chunks_of_resamples_are_one_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = _systems(["BLEU", "CIDEr-D"])
    whole = compare(a, b, samples=101), compare(a, b, method="randomization", samples=101)
    monkeypatch.setattr("capeval.scoring.resampling._CHUNK", 7 * 40)
    for before, after in zip(
        whole, (compare(a, b, samples=101), compare(a, b, method="randomization", samples=101)), strict=True
    ):
        for name, comparison in before.items():
            assert after[name].p_value == comparison.p_value
            assert after[name].low == pytest.approx(comparison.low, rel=1e-12)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    generator = random.Random(1)
    held = 0
    for trial in range(200):
        report = hits([generator.random() < 0.6 for _ in range(60)])
        interval = bootstrap(report, samples=200, level=0.9, seed=trial)["ROUGE-L"]
        held += interval.low <= 0.6 <= interval.high
    # 180 are expected; the standard deviation is 4.2, and percentile intervals are slightly narrow.
    assert 165 <= held <= 192


@EACH_METHOD
def test_systems_that_are_alike_are_seldom_told_apart(method: Method) -> None:
    generator = random.Random(2)
    rejected = 0
    for trial in range(200):
        a, b = (hits([generator.random() < 0.6 for _ in range(60)]) for _ in range(2))
        rejected += compare(a, b, method=method, samples=200, seed=trial)["ROUGE-L"].p_value <= 0.1
    # 20 are expected at most.
    assert 5 <= rejected <= 30


@EACH_METHOD
def test_a_real_difference_is_found(method: Method) -> None:
    generator = random.Random(3)
    a, b = (hits([generator.random() < rate for _ in range(400)]) for rate in (0.7, 0.5))
    comparison = compare(a, b, method=method)["ROUGE-L"]
    assert comparison.p_value < 0.01
    assert 0 < comparison.low < comparison.difference < comparison.high


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0}, r"'samples' must be an integer of at least 1 \(got 0\)"),
        ({"samples": 10.0}, "'samples' must be an integer"),
        ({"samples": True}, "'samples' must be an integer"),
        ({"level": 0.0}, r"'level' must be a number between 0 and 1 \(got 0.0\)"),
        ({"level": 1.0}, "'level' must be a number between 0 and 1"),
        ({"level": 95}, "'level' must be a number between 0 and 1"),
        ({"level": math.nan}, "'level' must be a number between 0 and 1"),
        ({"seed": -1}, r"'seed' must be an integer of at least 0 \(got -1\)"),
        ({"seed": 1.5}, "'seed' must be an integer"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    report = hits([True, False])
    drawing = {name: value for name, value in options.items() if name != "level"}
    calls: list[Callable[[], object]] = [
        (lambda: Resampler(**drawing))
        if drawing
        else (lambda: resample(report)["ROUGE-L"].interval(**options)),
        lambda: bootstrap(report, **options),
        lambda: compare(report, report, **options),
    ]
    for call in calls:
        with pytest.raises(OptionError, match=message):
            call()


def test_resamples_have_the_intervals_and_the_comparison() -> None:
    reports = _systems(["BLEU", "CIDEr-D"])
    a, b = (resample(report, samples=200, seed=3) for report in reports)
    assert {name: one.interval() for name, one in a.items()} == bootstrap(reports[0], samples=200, seed=3)
    compared = compare(*reports, method="bootstrap", samples=200, seed=3)
    assert list(compared) == list(a)
    assert {name: difference(a[name], b[name]) for name in a} == compared


def test_a_resampler_draws_the_same_for_all_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capeval.scoring.resampling._CHUNK", 7 * 40)
    resampler = Resampler(samples=101, seed=3)
    some = list(range(0, 40, 3))
    for report in (*_systems(["BLEU"]), *_systems(["CIDEr-D", "ROUGE-L"])):
        for images in (None, some):
            once = resample(report, samples=101, seed=3, images=images)
            again = resampler.resample(report, images=images)
            assert list(once) == list(again) == list(report.corpus)
            for name, one in once.items():
                assert (one.name, one.score, one.seed) == (name, again[name].score, 3)
                np.testing.assert_array_equal(one.values, again[name].values)


def test_a_subset_has_the_interval_that_its_images_have_alone() -> None:
    right = [True, False, True, True, False]
    whole = hits([*right, True, True, True])
    assert bootstrap(whole, images=range(5)) == bootstrap(hits(right))
    # In any order of its images.
    assert bootstrap(whole, images=[4, 2, 0, 1, 3]) == bootstrap(hits(right))


def test_resamples_kept_in_single_precision_say_the_same() -> None:
    reports = _systems(["ROUGE-L"])
    kept = []
    for report in reports:
        one = resample(report)["ROUGE-L"]
        kept.append(replace(one, values=one.values.astype(np.float32)))
    single, whole = difference(kept[0], kept[1]), compare(*reports, method="bootstrap")["ROUGE-L"]
    assert (single.difference, single.p_value) == (whole.difference, whole.p_value)
    assert (single.low, single.high) == pytest.approx((whole.low, whole.high), abs=1e-7)
    # Values that differ only by rounding are equal: here 1/3, and 1/3 with its last bit changed.
    values = np.full(1000, 1 / 3, np.float32)
    a, b = (
        BootstrapScore(name="x", score=1 / 3, values=v) for v in (values, np.nextafter(values, np.float32(0)))
    )
    assert difference(a, b).p_value == 1


def test_resamples_that_do_not_pair_are_refused() -> None:
    report, _ = _systems(["ROUGE-L", "CIDEr-D"])
    found = resample(report, samples=10)
    for other in (
        found["CIDEr-D"],
        resample(report, samples=11)["ROUGE-L"],
        resample(report, samples=10, seed=1)["ROUGE-L"],
    ):
        with pytest.raises(MismatchError, match=r"got ROUGE-L, 10 samples, seed 0 and "):
            difference(found["ROUGE-L"], other)


def test_images_to_draw_from_are_checked() -> None:
    report = hits([True, False])
    with pytest.raises(OptionError, match=r"'images' must contain at least one image \(got none\)"):
        resample(report, images=[])
    with pytest.raises(MismatchError, match="'images': image 7 is not among the references"):
        bootstrap(report, images=[0, 7])
    with pytest.raises(OptionError, match=r"'images' must be a list of image ids \(got str\)"):
        resample(report, images="01")
    with pytest.raises(CaptionError, match="'images': an image id must be an integer or a string"):
        bootstrap(report, images=[False])


def test_the_method_is_checked() -> None:
    report = hits([True])
    with pytest.raises(OptionError, match=r"'method' must be one of bootstrap, randomization \(got 't'\)"):
        compare(report, report, method="t")  # type: ignore[arg-type]


def test_reports_of_other_images_do_not_compare() -> None:
    with pytest.raises(MismatchError, match=r"same images \(1 are only in the first, 2 only in the second\)"):
        compare(hits([True, True], ids=[1, 2]), hits([True] * 3, ids=[2, 3, 4]))


def test_reports_of_other_metrics_do_not_compare() -> None:
    (a, _), (_, b) = _systems(["BLEU"]), _systems(["BLEU", "ROUGE-L"])
    with pytest.raises(MismatchError, match="the same scores"):
        compare(a, b)


def test_reports_of_other_options_do_not_compare() -> None:
    references, candidates = {1: ["a dog"]}, {1: "a cat"}
    a, b = (evaluate(references, candidates, [RougeL(beta=beta)]) for beta in (1.0, 1.2))
    with pytest.raises(MismatchError, match=r"same references and options \(got ROUGE-L\|beta=1\|"):
        compare(a, b)


def test_reports_against_other_references_do_not_compare() -> None:
    a, b = (evaluate({1: [text]}, {1: "a cat"}, ["ROUGE-L"]) for text in ("a dog", "a cat"))
    with pytest.raises(MismatchError, match="must use the same references and options"):
        compare(a, b)


def test_reports_of_the_same_references_in_another_order_compare() -> None:
    references = {1: ["a dog"], 2: ["a cat", "the cat"]}
    other = {image: references[image] for image in (2, 1)}
    a, b = (evaluate(given, {1: "a dog", 2: "a dog"}, ["ROUGE-L"]) for given in (references, other))
    assert compare(a, b)["ROUGE-L"].difference == 0
