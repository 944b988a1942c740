"""Sums over swapped images: stored for each system, they give the tests that `compare` computes of a pair."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, OptionError
from capeval.metrics.base import Metric
from capeval.metrics.registry import get_metric
from capeval.scoring.comparisons import Comparison
from capeval.scoring.evaluator import Evaluator, evaluate
from capeval.scoring.multiple_comparisons import compare_systems
from capeval.scoring.report import Report
from capeval.scoring.resampling import draw_swaps, list_swaps
from capeval.scoring.significance import Resampler, compare, difference, resample, sum_swaps

WORDS = ["a", "the", "dog", "cat", "runs", "sits", "on", "grass", "red", "bus"]
# Counts, lengths, means, weighted n-grams, fragments of alignments, and skip-bigrams.
METRICS = ["BLEU", "METEOR", "ROUGE-L", "ROUGE-S", "CIDEr-D", "CIDEr-2015"]


def write(generator: random.Random, images: int) -> dict[int, str]:
    return {image: " ".join(generator.choices(WORDS, k=generator.randint(1, 9))) for image in range(images)}


def change(generator: random.Random, captions: dict[int, str], number: int) -> dict[int, str]:
    """Replace some captions, as a submission with few changes does."""
    others = write(generator, len(captions))
    return captions | {image: others[image] for image in generator.sample(range(len(captions)), number)}


def systems(
    seed: int, images: int, metrics: Sequence[str | Metric], *, changed: int
) -> tuple[Report, Report]:
    """Return the reports of two systems that differ in some captions."""
    generator = random.Random(seed)
    references = {
        image: [text, other]
        for (image, text), other in zip(
            write(generator, images).items(), write(generator, images).values(), strict=True
        )
    }
    first = write(generator, images)
    evaluator = Evaluator(references, metrics)
    return evaluator.evaluate(first), evaluator.evaluate(change(generator, first, changed))


def compare_sums(
    a: Report, b: Report, *, samples: int = 1000, seed: int = 0, images: Sequence[int] | None = None
) -> dict[str, Comparison]:
    """Compare two systems by the stored arrays of each."""
    kept = [
        (
            resample(report, samples=samples, seed=seed, images=images),
            sum_swaps(report, samples=samples, seed=seed, images=images),
        )
        for report in (a, b)
    ]
    (first, first_sums), (second, second_sums) = kept
    return {
        name: difference(first[name], second[name], swaps=(first_sums[name], second_sums[name]))
        for name in first
    }


def check_equal(found: dict[str, Comparison], expected: dict[str, Comparison]) -> None:
    assert list(found) == list(expected)
    for name, each in expected.items():
        assert repr(found[name]) == repr(each)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    images=st.sampled_from([1, 2, 3, 8, 12, 16, 17, 18, 30, 75]),
    share=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    part=st.sampled_from([0.3, 0.8, 1.0]),
)
def test_stored_sums_give_the_comparison(seed: int, images: int, share: float, part: float) -> None:
    a, b = systems(seed, images, METRICS, changed=round(share * images))
    subset = None if part == 1 else list(range(max(1, round(part * images))))
    expected = compare(a, b, samples=200, seed=seed % 7, images=subset)
    check_equal(compare_sums(a, b, samples=200, seed=seed % 7, images=subset), expected)


def count_extreme(a: FloatArray, b: FloatArray, metric: Metric, weights: np.ndarray) -> np.ndarray:
    """Count the swaps that are as extreme as the observed difference, from the statistics of each image."""
    scores = metric.aggregate_for_tests(a.sum(axis=0)), metric.aggregate_for_tests(b.sum(axis=0))
    least = np.abs(scores[0] - scores[1]) - 1e-12 * (np.abs(scores[0]) + np.abs(scores[1]))
    extreme = np.zeros(len(metric.names), int)
    for swapped in weights.astype(bool)[:, :, None]:
        first, second = np.where(swapped, b, a).sum(axis=0), np.where(swapped, a, b).sum(axis=0)
        extreme += np.abs(metric.aggregate_for_tests(first) - metric.aggregate_for_tests(second)) >= least
    return extreme


@pytest.mark.parametrize("images", [4, 9, 17, 60])
@pytest.mark.parametrize("changed", [1, 3])
def test_p_values_equal_those_of_exchanged_rows(images: int, changed: int) -> None:
    a, b = systems(images, images, METRICS, changed=changed)
    found = compare(a, b, samples=150)
    weights: np.ndarray
    if images <= 16:
        (weights,), total, added = list_swaps(images), 2**images, 0
    else:
        (weights,), total, added = draw_swaps(images, 150, 0), 151, 1
    for (metric, ours), (_, theirs) in zip(a.scores, b.scores, strict=True):
        extreme = count_extreme(ours.statistics, theirs.statistics, metric, weights)
        for name, count in zip(metric.names, extreme.tolist(), strict=True):
            assert found[name].p_value == (count + added) / total


def test_many_chunks_of_swaps_are_one_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = systems(1, 40, METRICS, changed=20)
    whole = compare_sums(a, b, samples=101)
    monkeypatch.setattr("capeval.scoring.resampling._CHUNK", 7 * 40)
    assert {name: each.p_value for name, each in compare_sums(a, b, samples=101).items()} == {
        name: each.p_value for name, each in whole.items()
    }


def test_a_resampler_draws_the_same_swaps_for_all_reports() -> None:
    resampler = Resampler(samples=101, seed=3)
    for report in systems(2, 40, METRICS, changed=10):
        for images in (None, list(range(0, 40, 2)), list(range(5))):
            once = sum_swaps(report, samples=101, seed=3, images=images)
            again = resampler.sum_swaps(report, images=images)
            assert list(once) == list(again) == list(report.corpus)
            for name, sums in once.items():
                assert (sums.images, sums.seed) == (again[name].images, 3)
                np.testing.assert_array_equal(sums.rows, again[name].rows)
                np.testing.assert_array_equal(sums.total, again[name].total)


def test_the_pairs_of_several_systems_are_compared_as_pairs() -> None:
    generator = random.Random(5)
    references = {image: [text] for image, text in write(generator, 30).items()}
    first = write(generator, 30)
    evaluator = Evaluator(references, METRICS)
    captions = {"a": first, "b": change(generator, first, 9), "c": change(generator, first, 30)}
    reports = {name: evaluator.evaluate(each) for name, each in captions.items()}
    for (one, other), found in compare_systems(reports, all_pairs=True, samples=100).items():
        expected = compare(reports[one], reports[other], samples=100)
        check_equal({name: replace(each, corrected_p_value=None) for name, each in found.items()}, expected)


@pytest.mark.system
def test_stored_sums_of_spice_give_the_comparison() -> None:
    a, b = systems(3, 30, ["SPICE", "SPIDEr"], changed=12)
    check_equal(compare_sums(a, b), compare(a, b))


def test_rows_are_the_images_of_few_and_the_swaps_of_many() -> None:
    few, many = (sum_swaps(systems(4, images, ["BLEU"], changed=1)[0], samples=7) for images in (16, 17))
    assert (few["BLEU-1"].rows.shape, few["BLEU-1"].is_exact) == ((16, 10), True)
    assert (many["BLEU-1"].rows.shape, many["BLEU-1"].is_exact) == ((7, 10), False)
    assert many["BLEU-1"] is many["BLEU-4"]


def test_sums_that_do_not_pair_are_rejected() -> None:
    a, _ = systems(6, 20, ["BLEU", "ROUGE-L"], changed=1)
    score = resample(a, samples=50)["ROUGE-L"]
    sums = sum_swaps(a, samples=50)["ROUGE-L"]
    others = [
        sum_swaps(a, samples=51)["ROUGE-L"],
        sum_swaps(a, samples=50, seed=1)["ROUGE-L"],
        sum_swaps(a, samples=50, images=range(19))["ROUGE-L"],
        sum_swaps(a, samples=50)["BLEU-1"],
    ]
    for other in others:
        with pytest.raises(MismatchError, match="sums of swaps must have the same scores, images, swaps and"):
            difference(score, score, swaps=(sums, other))
    with pytest.raises(MismatchError, match=r"sums of swaps must be of the score \(got ROUGE-L and BLEU-1\)"):
        difference(score, score, swaps=(others[-1], others[-1]))
    assert difference(score, score, swaps=(sums, sums)).p_value == 1


def test_options_are_checked() -> None:
    report, _ = systems(7, 3, [get_metric("ROUGE-L")], changed=1)
    with pytest.raises(OptionError, match="'samples' must be an integer of at least 1"):
        sum_swaps(report, samples=0)
    with pytest.raises(OptionError, match="'images' must contain at least one image"):
        sum_swaps(report, images=[])


def test_constants_of_bleu_are_not_compared() -> None:
    """Without a matching 4-gram, BLEU-4 is a constant that depends on the lengths of captions."""
    images = range(40)
    references = {image: ["a dog runs on the grass in the park"] for image in images}
    short = evaluate(references, dict.fromkeys(images, "a dog sits there"), "BLEU")
    long = evaluate(
        references, dict.fromkeys(images, "a cat is on the grass and looks at me for long"), "BLEU"
    )
    found = compare(short, long, samples=100)
    assert 0 < found["BLEU-4"].a != found["BLEU-4"].b < 1e-4
    assert found["BLEU-4"].p_value == 1
    assert found["BLEU-1"].p_value < 0.05
    assert (
        difference(
            resample(short, samples=100)["BLEU-4"],
            resample(long, samples=100)["BLEU-4"],
            swaps=(sum_swaps(short, samples=100)["BLEU-4"], sum_swaps(long, samples=100)["BLEU-4"]),
        )
        == found["BLEU-4"]
    )
