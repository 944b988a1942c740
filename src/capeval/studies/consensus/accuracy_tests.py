"""Paired tests of the accuracies of two metrics on the same pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from capeval.scoring.multiple_comparisons import correct_holm
from capeval.studies.shared.ties import TieRules

__all__ = ["AccuracyTest", "compare_accuracies", "compute_sign_test"]


@dataclass(frozen=True, kw_only=True)
class AccuracyTest:
    """Difference between the accuracies of two metrics.

    Attributes:
        first: The name of the first metric.
        second: The name of the second metric.
        difference: The first accuracy minus the second, from -1 to 1.
        first_better: The number of pairs on which only the first metric is correct or, with `half`, the first
            has a larger share of correctness.
        second_better: The same for the second metric.
        p_value: The two-sided p-value of the exact sign test of these numbers (McNemar's exact test).
        corrected_p_value: The p-value corrected for the number of tests (Holm).
    """

    first: str
    second: str
    difference: float
    first_better: int
    second_better: int
    p_value: float
    corrected_p_value: float


def compare_accuracies(
    differences: Mapping[str, NDArray[np.generic]],
    truth: NDArray[np.generic],
    rules: TieRules = TieRules(),  # noqa: B008 - it is immutable.
) -> tuple[AccuracyTest, ...]:
    """Test each two metrics for different accuracies on the same pairs.

    Args:
        differences: The first candidate's score minus the second's for each pair, by metric.
        truth: The human choices: above 0 for the first candidate, below 0 for the second, 0 for a tie.
        rules: The rules for ties.

    Example:
        The first metric is correct on all six pairs, and the second on none:

        >>> import numpy as np
        >>> from capeval.studies.consensus import compare_accuracies
        >>> scores = {"ROUGE-L": np.full(6, 0.1), "BLEU-1": np.full(6, -0.2)}
        >>> [test] = compare_accuracies(scores, np.ones(6))
        >>> test.difference, test.first_better, test.second_better, test.p_value
        (1.0, 6, 0, 0.03125)
    """
    of_metric = {name: rules.credits(values, truth) for name, values in differences.items()}
    tests = []
    for first, second in combinations(of_metric, 2):
        gain = of_metric[first] - of_metric[second]
        gain = gain[~np.isnan(gain)]
        better, worse = int((gain > 0).sum()), int((gain < 0).sum())
        tests.append(
            AccuracyTest(
                first=first,
                second=second,
                difference=float(gain.mean()) if gain.size else 0.0,
                first_better=better,
                second_better=worse,
                p_value=compute_sign_test(better, worse),
                corrected_p_value=1.0,
            )
        )
    corrected = correct_holm([test.p_value for test in tests])
    return tuple(
        replace(test, corrected_p_value=p_value) for test, p_value in zip(tests, corrected, strict=True)
    )


def compute_sign_test(better: int, worse: int) -> float:
    """Return the two-sided p-value of the exact sign test; 1 without differences.

    Example:
        >>> from capeval.studies.consensus.accuracy_tests import compute_sign_test
        >>> compute_sign_test(8, 1)
        0.0390625
    """
    total, fewer = better + worse, min(better, worse)
    tail: int = sum(comb(total, count) for count in range(fewer + 1))
    return min(1.0, 2 * tail / int(2**total))
