"""Bootstrap intervals of corpus scores, and paired tests between two systems.

Everything is computed from the statistics of a report: a resample is the number of draws of each image, its
statistics are the weighted sum of the images' rows, and the metric computes scores from them. No caption is
scored again.
"""

from __future__ import annotations

from collections.abc import Iterable

from capeval.data.captions import ImageId
from capeval.scoring.bootstrap import (
    BootstrapScore,
    Interval,
    Resampler,
    SystemScores,
    bootstrap,
    resample,
    sum_swaps,
)
from capeval.scoring.comparisons import (
    Comparison,
    Comparisons,
    Method,
    describe_test,
    format_p_value,
    is_significant,
)
from capeval.scoring.paired_tests import PairedTests, difference
from capeval.scoring.swap_sums import SwapSums

__all__ = [
    "BootstrapScore",
    "Comparison",
    "Comparisons",
    "Interval",
    "Resampler",
    "SwapSums",
    "SystemScores",
    "bootstrap",
    "compare",
    "describe_test",
    "difference",
    "format_p_value",
    "is_significant",
    "resample",
    "sum_swaps",
]


def compare(
    a: SystemScores,
    b: SystemScores,
    *,
    method: Method = "randomization",
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    images: Iterable[ImageId] | None = None,
) -> Comparisons:
    """Test whether two systems differ, with their scores paired by image.

    `randomization` is the paired randomization test (Noreen 1989; Riezler and Maxwell 2005): the candidates
    of each image are swapped between the systems with probability 1/2. With up to 16 images, the test is
    exact: all swaps are listed, and with `d*` the difference after a swap, `p` is the share of swaps with
    `|d*| >= |d|`. With more images, swaps are drawn, and `p = (#{|d*| >= |d|} + 1) / (samples + 1)`.

    `bootstrap` is the two-sided paired bootstrap (Koehn 2004): with `d*` the difference in a resample,
    `p = 2 (min(#{d* <= 0}, #{d* >= 0}) + 1) / (samples + 1)`, at most 1, corrected for the number of images.
    This p-value is the level at which the interval starts to include 0 (Efron and Tibshirani 1993).

    With both methods the interval is the paired bootstrap interval with expanded quantiles. P-values are not
    corrected for multiple comparisons.

    If a metric could not score an image for one of the systems, the image is excluded for both: the scores,
    differences and p-values of that metric are computed from the other images.

    Args:
        a: The scores of the first system.
        b: The scores of the second system, with the same references, metrics and options.
        method: `randomization` or `bootstrap`.
        samples: The number of resamples.
        level: The confidence level of the interval, between 0 and 1.
        seed: The seed of the resamples; the same seed gives the same numbers.
        images: The images to compare, such as a subset; all by default.

    Returns:
        The comparison of each corpus score, by name, in the order of `a`.

    Raises:
        CaptionError: `images` contains something other than image ids.
        MismatchError: The two reports differ in images, references, metrics or options, or have no scores for
            one of the images.
        OptionError: An option has an invalid value.

    Example:
        The first system is better for two images and equal for one:

        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import compare
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> a = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "A dog."}, ["ROUGE-1"])
        >>> b = evaluate(references, {1: "A red bus.", 2: "A bed.", 3: "A cat."}, ["ROUGE-1"])
        >>> comparison = compare(a, b)["ROUGE-1"]
        >>> round(comparison.difference, 3), round(comparison.low, 3), round(comparison.high, 3)
        (0.333, 0.0, 0.5)
        >>> comparison.better, comparison.p_value, comparison.smallest_p_value
        ('a', 0.5, 0.25)
    """
    tests = PairedTests(
        {"a": a, "b": b}, method=method, samples=samples, level=level, seed=seed, images=images
    )
    return tests.compare("a", "b")
