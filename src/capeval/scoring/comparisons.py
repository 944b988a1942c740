"""Differences between two systems, and the texts of their p-values."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isclose, isnan
from typing import Literal

from capeval._internal.notebook_html import html_table
from capeval.errors.messages import format_score
from capeval.scoring.score_names import ScoresByName

__all__ = [
    "FEW_IMAGES",
    "ROUNDING",
    "Comparison",
    "Comparisons",
    "Method",
    "describe_test",
    "format_exact_p_value",
    "format_p_value",
    "is_significant",
    "warn_about_few",
]

Method = Literal["bootstrap", "randomization"]

FEW_IMAGES = 30
"""With fewer images, intervals are unreliable, and tests find only large differences."""

_COLUMNS = ("a", "b", "a - b", "p-value")

ROUNDING = 1e-12
"""Smaller differences, relative to the scores, can result from the order of summation."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The difference between two systems on the same images, for one score.

    Attributes:
        name: The name of the score.
        a: The score of the first system.
        b: The score of the second system.
        difference: `a - b`.
        low: The lower end of the paired bootstrap interval of the difference.
        high: The upper end of the interval.
        p_value: The two-sided p-value under the null hypothesis of no difference.
        smallest_p_value: The smallest p-value that the test can return for this number of images and
            resamples.
        detectable: Larger differences would be significant at the level of the interval, with the variation
            of these images; NaN if no difference can be significant.
        method: The test of the p-value, `bootstrap` or `randomization`.
        level: The confidence level of the interval, between 0 and 1.
        samples: The number of resamples.
        seed: The seed of the resamples.
        higher_is_better: Whether a higher score is better.
        has_direction: Whether one of two different scores is better.
        is_exact: Whether the test used all possible swaps of the images, without random draws.
        corrected_p_value: The p-value corrected for the number of compared pairs; None without correction.
    """

    name: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    p_value: float
    smallest_p_value: float
    detectable: float
    method: Method
    level: float
    samples: int
    seed: int
    higher_is_better: bool = True
    has_direction: bool = True
    is_exact: bool = False
    corrected_p_value: float | None = None

    @property
    def better(self) -> Literal["a", "b"] | None:
        """The system with the better score; None if the scores are equal, undefined or without direction."""
        if not self.has_direction:
            return None
        a, b = (self.a, self.b) if self.higher_is_better else (-self.a, -self.b)
        return "a" if a > b else "b" if b > a else None

    @property
    def is_significant(self) -> bool:
        """Whether the p-value, corrected if possible, is at most 1 minus the level of the interval."""
        p_value = self.p_value if self.corrected_p_value is None else self.corrected_p_value
        return is_significant(p_value, level=self.level)


class Comparisons(ScoresByName[Comparison]):
    """The comparison of each score by name, displayed as a table.

    Attributes:
        notes: Sentences on images that were excluded from the comparison of a score, and on too few images.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import compare
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> a = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "A dog."}, ["ROUGE-1"])
        >>> b = evaluate(references, {1: "A red bus.", 2: "A bed.", 3: "A cat."}, ["ROUGE-1"])
        >>> comparisons = compare(a, b)
        >>> list(comparisons), comparisons["ROUGE-1"].better
        (['ROUGE-1'], 'a')
        >>> comparisons
        Score    a      b      a - b                       p-value
        ROUGE-1  0.833  0.500  +0.3333 [+0.0000, +0.5000]  0.5000
        Only 3 images: with fewer than 30, intervals are unreliable, and tests find only large differences.
    """

    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        rows = [("Score", *_COLUMNS), *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        """Return a table for notebooks, with one row per score."""
        return html_table(("", *_COLUMNS), self._rows())

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                name,
                format_score(each.a),
                format_score(each.b),
                f"{each.difference:+.4f} [{each.low:+.4f}, {each.high:+.4f}]",
                format_p_value(each),
            )
            for name, each in self.items()
        ]


def is_significant(p_value: float, *, level: float = 0.95) -> bool:
    """Return whether a p-value is at most 1 minus the level; False for NaN.

    Args:
        p_value: The p-value.
        level: The level of the test as a confidence level, between 0 and 1.

    Example:
        >>> from capeval.scoring.significance import is_significant
        >>> is_significant(0.05), is_significant(0.06), is_significant(0.06, level=0.9)
        (True, False, True)
    """
    return p_value <= 1 - level + ROUNDING


def format_p_value(comparison: Comparison, *, is_corrected: bool = False, digits: int = 4) -> str:
    """Format a p-value with four decimals, or as `<0.001` if it is the smallest of a random test.

    Args:
        comparison: The comparison.
        is_corrected: Whether to format the corrected p-value, if there is one.
        digits: The number of decimals; a p-value that rounds to 0 is formatted as `<0.0001`, too.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import compare, format_p_value
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> a = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "A dog."}, ["ROUGE-1"])
        >>> b = evaluate(references, {1: "A red bus.", 2: "A bed.", 3: "A cat."}, ["ROUGE-1"])
        >>> format_p_value(compare(a, b)["ROUGE-1"])
        '0.5000'
    """
    corrected = comparison.corrected_p_value if is_corrected else None
    p_value = comparison.p_value if corrected is None else corrected
    is_smallest = (
        p_value < 1 and not comparison.is_exact and comparison.p_value <= comparison.smallest_p_value
    )
    if is_smallest and p_value >= 10.0**-digits / 2:
        # Rounded up, so that the inequality holds.
        bound = ceil(round(p_value * 10**digits, 6)) / 10**digits
        sign = "≤" if isclose(p_value, bound) else "<"
        return f"{sign}{bound:.{digits}f}".rstrip("0")
    return format_exact_p_value(p_value, digits=digits)


def format_exact_p_value(p_value: float, *, digits: int = 4) -> str:
    """Format the p-value of an exact test, or as `<0.0001` if it rounds to 0.

    Args:
        p_value: The p-value; NaN is formatted as `-`.
        digits: The number of decimals.

    Example:
        >>> from capeval.scoring.comparisons import format_exact_p_value
        >>> format_exact_p_value(0.03125), format_exact_p_value(1e-9)
        ('0.0312', '<0.0001')
    """
    if isnan(p_value):
        return "-"
    floor = 10.0**-digits
    return f"<{floor:.{digits}f}" if p_value < floor / 2 else f"{p_value:.{digits}f}"


def describe_test(comparison: Comparison) -> str:
    """Return a sentence on the test of a p-value, for footnotes.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.significance import compare, describe_test
        >>> references = {1: ["A red bus."], 2: ["Two cats."], 3: ["A dog."]}
        >>> a = evaluate(references, {1: "A red bus.", 2: "Two dogs.", 3: "A dog."}, ["ROUGE-1"])
        >>> b = evaluate(references, {1: "A red bus.", 2: "A bed.", 3: "A cat."}, ["ROUGE-1"])
        >>> describe_test(compare(a, b)["ROUGE-1"])
        'p-value: exact paired randomization of the captions of each image; the smallest possible is 0.25.'
    """
    value = comparison.smallest_p_value
    # With the decimals of p-values in tables.
    shown = f"{value:.4f}".rstrip("0") if value >= 0.001 else f"{value:.2g}"
    smallest = f"the smallest possible is {shown}."
    drawn = f"({comparison.samples:,} samples, seed {comparison.seed})"
    if comparison.method == "bootstrap":
        return f"p-value: paired bootstrap of the images {drawn}; {smallest}"
    if comparison.is_exact:
        return f"p-value: exact paired randomization of the captions of each image; {smallest}"
    return f"p-value: paired randomization of the captions of each image {drawn}; {smallest}"


def warn_about_few(images: int) -> tuple[str, ...]:
    """Return a note on too few images, or nothing."""
    if images >= FEW_IMAGES:
        return ()
    count = "1 image" if images == 1 else f"{images:,} images"
    return (
        f"Only {count}: with fewer than {FEW_IMAGES}, intervals are unreliable, and tests find only large"
        " differences.",
    )
