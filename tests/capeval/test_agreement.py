"""Krippendorff's alpha of three scales, and its interval."""

import krippendorff
import numpy as np
import pytest

from capeval.errors import MismatchError, OptionError
from capeval.studies.shared.agreement import Scale, krippendorff_alpha, measure_alpha


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_alpha_is_that_of_the_package_krippendorff(scale: Scale) -> None:
    rng = np.random.default_rng(7)
    for _ in range(100):
        questions, people = int(rng.integers(5, 40)), int(rng.integers(3, 7))
        ratings = rng.choice([-1.0, 0.0, 1.0, 2.5, 5.0], (questions, people))
        ratings[rng.random(ratings.shape) < 0.3] = np.nan
        expected = krippendorff.alpha(reliability_data=ratings.T, level_of_measurement=scale)
        assert krippendorff_alpha(ratings, scale=scale) == pytest.approx(expected, abs=1e-12)
        alpha = measure_alpha(ratings, scale=scale, samples=100)
        assert alpha is not None
        assert alpha.value == krippendorff_alpha(ratings, scale=scale)
        assert alpha.interval.low <= alpha.value <= alpha.interval.high


def test_alpha_of_the_worked_examples() -> None:
    # Krippendorff 2011, part B: two observers, ten units, two values.
    two = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]])
    assert krippendorff_alpha(two.T) == pytest.approx(0.095, abs=5e-4)
    # Part C: four observers, twelve units, five ranks.
    none = np.nan
    observers = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, none, none, none],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, none, 3],
            [none, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, none],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, none],
        ]
    )
    for scale, alpha in (("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)):
        assert krippendorff_alpha(observers.T, scale=scale) == pytest.approx(alpha, abs=5e-4)  # type: ignore[arg-type]


def test_an_ordinal_scale_counts_the_ratings_between_two() -> None:
    # Confusing neighbors is less wrong than confusing the ends.
    near, far = [[1, 0], [0, -1], [1, 1], [-1, -1]], [[1, -1], [0, 0], [1, 1], [-1, -1]]
    assert krippendorff_alpha(near, scale="ordinal") > krippendorff_alpha(near)
    assert krippendorff_alpha(far, scale="ordinal") < krippendorff_alpha(far)


def test_perfect_agreement_is_not_certain() -> None:
    widths = []
    for images in (4, 30, 1000):
        alpha = measure_alpha([[1, 1, 1], [0, 0, 0]] * (images // 2), scale="nominal", samples=50)
        assert alpha is not None
        assert (alpha.value, alpha.interval.high) == (1, 1)
        widths.append(1 - alpha.interval.low)
    assert widths[0] > 1 > 0.3 > widths[1] > 0.2 > 0.01 > widths[2] > 0
    single = measure_alpha([[1, 0]], scale="nominal")
    assert single is not None
    assert (single.interval.low, single.interval.high) == (-1, 1)


def test_questions_about_one_image_vary_together() -> None:
    rng = np.random.default_rng(2)
    ratings = np.repeat(rng.integers(0, 2, (50, 3)), 4, axis=0)
    images = np.repeat(np.arange(50), 4).tolist()
    alone = measure_alpha(ratings, scale="nominal")
    together = measure_alpha(ratings, scale="nominal", units=images)
    assert alone is not None
    assert together is not None
    assert alone.value == together.value
    widths = [each.interval.high - each.interval.low for each in (together, alone)]
    assert widths[0] == pytest.approx(2 * widths[1], rel=0.15)


def test_undefined_alphas() -> None:
    assert measure_alpha([[1, 1], [1, 1]], scale="nominal") is None
    assert measure_alpha([[1, np.nan], [np.nan, 0]], scale="nominal") is None
    with pytest.raises(MismatchError, match="ratings must not all be equal"):
        krippendorff_alpha([[1, 1], [1, 1]])
    with pytest.raises(MismatchError, match="at least one question must have two ratings"):
        krippendorff_alpha([[1, np.nan], [np.nan, 2]])
    with pytest.raises(OptionError, match="'scale' must be one of nominal, ordinal, interval"):
        krippendorff_alpha([[1, 1]], scale="ratio")  # type: ignore[arg-type]


def test_the_interval_does_not_depend_on_the_order() -> None:
    rng = np.random.default_rng(5)
    ratings = rng.integers(1, 6, size=(40, 3)).astype(np.float64)
    ratings[rng.random(ratings.shape) < 0.1] = np.nan
    units = [int(unit) for unit in rng.integers(0, 15, size=40)]
    first = measure_alpha(ratings, scale="interval", units=units)
    order = rng.permutation(40)
    shuffled = measure_alpha(
        ratings[order][:, ::-1], scale="interval", units=[f"image {units[row]}" for row in order]
    )
    assert first is not None
    assert shuffled is not None
    ends = (first.interval.low, first.interval.high)
    assert (shuffled.interval.low, shuffled.interval.high) == pytest.approx(ends, abs=1e-12)
