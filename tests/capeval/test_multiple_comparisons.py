"""Comparisons of several systems, and intervals and corrections that other programs compute, too."""

from __future__ import annotations

import json
import math
import random
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from capeval import RougeL, Tokenizer
from capeval.data.scores import FloatArray
from capeval.errors import CapevalError, MismatchError, OptionError
from capeval.scoring.comparisons import Method
from capeval.scoring.evaluator import evaluate
from capeval.scoring.intervals import compute_interval
from capeval.scoring.multiple_comparisons import compare_systems, correct_holm
from capeval.scoring.report import Report
from capeval.scoring.significance import compare, resample

RECORDED = json.loads((Path(__file__).parent / "holm_statsmodels.json").read_text(encoding="utf-8"))
NO_TOKENIZER = Tokenizer(kind="none")
WORDS = ["a", "dog", "cat", "runs", "on", "grass", "the", "bed"]


def create_systems(count: int, images: int = 40, metrics: str = "ROUGE-L,BLEU-4") -> dict[str, Report]:
    """Return systems with more and more random words in their captions."""
    generator = random.Random(count)
    references = {
        image: [" ".join(generator.choices(WORDS, k=8)) for _ in range(2)] for image in range(images)
    }
    systems = {}
    for place in range(count):
        candidates = {}
        for image, (text, _) in references.items():
            words = text.split()
            for position in generator.sample(range(8), 2 * place + 1):
                words[position] = generator.choice(WORDS)
            candidates[image] = " ".join(words)
        systems[f"system {place}"] = evaluate(references, candidates, metrics, tokenizer=NO_TOKENIZER)
    return systems


def create_skewed_report(images: int) -> Report:
    """Return a report with a skewed distribution of ROUGE-L."""
    generator = random.Random(images)
    references = {image: ["a b c d e f g h"] for image in range(images)}
    candidates = {
        image: "a b c d e f g h"[: 2 * min(8, int(generator.expovariate(0.6)) + 1)] for image in references
    }
    return evaluate(references, candidates, "ROUGE-L", tokenizer=NO_TOKENIZER)


@pytest.mark.parametrize("family", RECORDED["families"], ids=lambda family: str(len(family["p_values"])))
def test_corrected_p_values_equal_those_of_statsmodels(family: dict[str, list[float]]) -> None:
    assert correct_holm(family["p_values"]) == pytest.approx(family["holm"], rel=1e-12, abs=0)


def test_an_undefined_p_value_does_not_count() -> None:
    corrected = correct_holm([0.01, math.nan, 0.03])
    assert corrected == pytest.approx([0.02, math.nan, 0.03], nan_ok=True)
    assert correct_holm([]) == []


@pytest.mark.parametrize("images", [10, 40, 200])
def test_bca_intervals_equal_those_of_scipy(images: int) -> None:
    report = create_skewed_report(images)
    values = report.per_image["ROUGE-L"]
    found = resample(report, samples=20_000)["ROUGE-L"]
    replicates = found.values.astype(np.float64)
    assert abs(found.acceleration) > 0.001
    for level in (0.8, 0.95):
        ours = compute_interval(replicates, level, score=found.score, acceleration=found.acceleration)
        assert ours == pytest.approx(_compute_with_scipy(values, level, replicates), abs=1e-9)
        # With replicates of its own, the ends differ by less than five standard errors of a difference.
        error = 5 * math.sqrt(2) * _quantile_error(replicates, level)
        assert ours == pytest.approx(_compute_with_scipy(values, level), abs=error)


def _compute_with_scipy(
    values: FloatArray, level: float, replicates: FloatArray | None = None
) -> tuple[float, float]:
    """Return scipy's BCa interval of a mean, from given bootstrap replicates or from 20,000 of its own."""
    found = stats.bootstrap(
        (values,),
        # Means that differ by the rounding of their sums are equal.
        lambda rows, axis: np.round(np.mean(rows, axis=axis), 12),
        n_resamples=20_000 if replicates is None else 0,
        confidence_level=level,
        method="BCa",
        bootstrap_result=None
        if replicates is None
        else SimpleNamespace(bootstrap_distribution=np.round(replicates, 12)),
        rng=np.random.default_rng(1),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def _quantile_error(replicates: FloatArray, level: float) -> float:
    """Return the standard error of an end of the interval, for normal replicates."""
    tail = (1 - level) / 2
    density = stats.norm.pdf(stats.norm.ppf(tail)) / replicates.std()
    return float(math.sqrt(tail * (1 - tail) / len(replicates)) / density)


def test_the_first_system_is_compared_with_each_other() -> None:
    found = compare_systems(create_systems(3), samples=200, seed=3)
    assert list(found) == [("system 0", "system 1"), ("system 0", "system 2")]


@pytest.mark.parametrize("images", [12, 40])
@pytest.mark.parametrize("method", ["randomization", "bootstrap"])
def test_every_pair_is_compared_as_if_alone(method: Method, images: int) -> None:
    systems = create_systems(4, images=images)
    # One system has its images and metrics in another order.
    reversed_ids = systems["system 1"].image_ids[::-1]
    systems["system 1"] = _reorder(systems["system 1"], images)
    assert systems["system 1"].image_ids == reversed_ids
    options: dict[str, Any] = {"method": method, "samples": 200, "seed": 3}
    for (a, b), comparisons in compare_systems(systems, all_pairs=True, **options).items():
        alone = compare(systems[a], systems[b], **options)
        assert list(comparisons) == list(alone)
        assert comparisons.notes == alone.notes
        for name, each in comparisons.items():
            assert each.corrected_p_value is not None
            # To the last bit.
            assert repr(replace(each, corrected_p_value=None)) == repr(alone[name])


def _reorder(report: Report, images: int) -> Report:
    scores = tuple(
        (metric, replace(each, statistics=each.statistics[::-1])) for metric, each in report.scores[::-1]
    )
    return replace(report, image_ids=tuple(range(images))[::-1], scores=scores)


@pytest.mark.parametrize("method", ["randomization", "bootstrap"])
def test_all_pairs_are_corrected_for_their_number(method: Method) -> None:
    described: list[str] = []
    found = compare_systems(
        create_systems(3), all_pairs=True, method=method, samples=200, progress=described.append
    )
    assert list(found) == [("system 0", "system 1"), ("system 0", "system 2"), ("system 1", "system 2")]
    assert described[0] == "Comparing system 0 and system 1"
    assert len(described) == 3
    for name in next(iter(found.values())):
        each = [comparisons[name] for comparisons in found.values()]
        assert [one.corrected_p_value for one in each] == correct_holm([one.p_value for one in each])
        assert {one.method for one in each} == {method}


def test_significance_is_that_of_the_corrected_p_value() -> None:
    # All six images favor the first system: p is 2 / 64, and 4 / 64 for two pairs.
    references = {image: ["a"] for image in range(6)}
    reports = {
        name: evaluate(references, dict.fromkeys(references, text), "ROUGE-L", tokenizer=NO_TOKENIZER)
        for name, text in {"right": "a", "wrong": "b", "also wrong": "c"}.items()
    }
    (alone,) = compare_systems({name: reports[name] for name in ("right", "wrong")}).values()
    assert (alone["ROUGE-L"].p_value, alone["ROUGE-L"].corrected_p_value) == (1 / 32, 1 / 32)
    assert alone["ROUGE-L"].is_significant
    for comparisons in compare_systems(reports).values():
        assert (comparisons["ROUGE-L"].p_value, comparisons["ROUGE-L"].corrected_p_value) == (1 / 32, 1 / 16)
        assert not comparisons["ROUGE-L"].is_significant


def test_a_subset_is_compared_as_its_images_alone() -> None:
    systems = create_systems(3)
    # An iterator can be read only once, but is needed for each pair.
    found = compare_systems(systems, images=iter(range(12)), samples=200)
    for (a, b), comparisons in found.items():
        alone = compare(systems[a], systems[b], images=range(12), samples=200)
        assert {name: each.p_value for name, each in comparisons.items()} == {
            name: each.p_value for name, each in alone.items()
        }
        assert comparisons["ROUGE-L"].is_exact
        assert comparisons.notes == (
            "Only 12 images: with fewer than 30, intervals are unreliable, and tests find only"
            " large differences.",
        )
        means = [systems[name].per_image["ROUGE-L"][:12].mean() for name in (a, b)]
        assert [comparisons["ROUGE-L"].a, comparisons["ROUGE-L"].b] == pytest.approx(means)


class UndefinedRouge(RougeL):
    """A score that no captions have."""

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """Return NaN."""
        return np.full_like(super().aggregate(statistics), np.nan)


@pytest.mark.parametrize("method", ["randomization", "bootstrap"])
def test_undefined_scores_do_not_differ(method: Method) -> None:
    references = {image: ["a"] for image in range(6)}
    systems = {
        text: evaluate(
            references, dict.fromkeys(references, text), [UndefinedRouge()], tokenizer=NO_TOKENIZER
        )
        for text in ("a", "b", "c")
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compare_systems(systems, method=method, samples=50)
    for comparisons in found.values():
        each = comparisons["ROUGE-L"]
        assert math.isnan(each.p_value)
        assert each.corrected_p_value is not None
        assert math.isnan(each.corrected_p_value)
        assert not each.is_significant
        assert each.better is None


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_systems_are_an_error(count: int) -> None:
    message = rf"a comparison needs at least two systems \(got {count}\)"
    with pytest.raises(MismatchError, match=message):
        compare_systems(create_systems(count, images=3))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"samples": 0}, OptionError, "'samples' must be an integer of at least 1"),
        ({"level": 95}, OptionError, "'level' must be a number between 0 and 1"),
        ({"method": "t"}, OptionError, "'method' must be one of bootstrap, randomization"),
        ({"images": []}, OptionError, "'images' must contain at least one image"),
        ({"images": [0, 99]}, MismatchError, "image 99 is not among the references"),
    ],
)
def test_options_are_checked(options: dict[str, object], error: type[CapevalError], message: str) -> None:
    with pytest.raises(error, match=message):
        compare_systems(create_systems(2, images=3), **options)  # type: ignore[arg-type]


def test_systems_on_different_images_are_an_error() -> None:
    systems = {
        "many": create_systems(1, images=5)["system 0"],
        "few": create_systems(1, images=3)["system 0"],
    }
    with pytest.raises(MismatchError, match="the reports must contain the same images"):
        compare_systems(systems)
