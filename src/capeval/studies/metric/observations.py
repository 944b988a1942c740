"""Agreement of scores with judgments, with weights of captions or pairs for resamples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.scoring.significance import BootstrapScore
from capeval.studies.correlation.observations import Observations, resample_coefficients
from capeval.studies.correlation.options import Raters
from capeval.studies.shared.coefficients import COEFFICIENTS

__all__ = [
    "PairMeasures",
    "RatingMeasures",
    "average_ratings",
    "measure",
    "measure_people",
    "number_units",
]


class RatingMeasures:
    """Coefficients of scores with the ratings of each question.

    Args:
        scores: The scores of the captions, by name; higher is better.
        ratings: The ratings by question: captions by raters.
        coefficients: The names of the coefficients.
        raters: Whether each rating or the mean rating of each caption is an observation.
    """

    def __init__(
        self,
        scores: Mapping[str, FloatArray],
        ratings: Mapping[str, FloatArray],
        coefficients: Sequence[str],
        raters: Raters,
    ) -> None:
        self.names = tuple(scores)
        self.measures = tuple(f"{name} {each}".strip() for name in ratings for each in coefficients)
        self._places = [COEFFICIENTS.index(each) for each in coefficients]
        self._questions = [
            Observations(scores, average_ratings(values) if raters == "mean" else values)
            for values in ratings.values()
        ]

    def __call__(self, weights: FloatArray) -> FloatArray:
        """Return the coefficients with a weight for each caption: scores by measures."""
        return np.hstack([question(weights)[:, self._places] for question in self._questions])


class PairMeasures:
    """Accuracies on classes of pairs, and their mean.

    Args:
        of_pairs: The credit of each pair, from 0 to 1, by name; NaN for excluded pairs.
        kinds: The class of each pair.
        classes: The classes, in order; with more than one, their mean is the last measure.
    """

    def __init__(
        self, of_pairs: Mapping[str, FloatArray], kinds: Sequence[str | None], classes: Sequence[str]
    ) -> None:
        self.names = tuple(of_pairs)
        self.measures = (*classes, "Mean") if len(classes) > 1 else tuple(classes)
        # Without classes, all pairs are of the only one.
        alone = len(classes) == 1
        self._members = np.array(
            [[alone or kind == each for kind in kinds] for each in classes], dtype=np.float64
        )
        self._credits = np.array(list(of_pairs.values()))
        self._counted = ~np.isnan(self._credits)

    def __call__(self, weights: FloatArray) -> FloatArray:
        """Return the accuracies with a weight for each pair: scores by measures."""
        weighted = self._members * weights
        with np.errstate(invalid="ignore"):
            found = (np.nan_to_num(self._credits) @ weighted.T) / (self._counted @ weighted.T)
        return np.hstack([found, found.mean(axis=1, keepdims=True)]) if len(self._members) > 1 else found


def average_ratings(ratings: FloatArray) -> FloatArray:
    """Return mean ratings, NaN without ratings; rounded, so that equal means tie."""
    counts = (~np.isnan(ratings)).sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: FloatArray = np.nansum(ratings, axis=1, keepdims=True) / counts
    return means.round(9)


def measure(
    compute: RatingMeasures | PairMeasures, images: NDArray[np.int64], samples: int, seed: int
) -> dict[str, dict[str, BootstrapScore]]:
    """Return each measure with its bootstrap resamples of images, by score and measure.

    Args:
        compute: The measures of captions or pairs.
        images: The number of each row's image, from 0.
        samples: The number of resamples.
        seed: The seed of the resamples.
    """
    observed = compute(np.ones(len(images)))
    resamples = resample_coefficients(compute, images, samples, seed)
    count = int(images.max()) + 1
    return {
        name: {
            each: BootstrapScore(
                name=each,
                score=float(observed[place, column]),
                values=resamples[:, place, column],
                seed=seed,
                units=count,
            )
            for column, each in enumerate(compute.measures)
        }
        for place, name in enumerate(compute.names)
    }


def measure_people(
    votes: FloatArray, raters: Raters, coefficients: Sequence[str], images: NDArray[np.int64]
) -> tuple[RatingMeasures, NDArray[np.int64]]:
    """Return the measures of one person's ratings with those of the others, and the image of each row.

    Each rating of a caption is once the score, and the other ratings of the caption, or their mean, are the
    ratings. Captions with fewer than two ratings do not count.

    Args:
        votes: The ratings: captions by people, NaN for missing ones.
        raters: As for the metrics.
        coefficients: The names of the coefficients.
        images: The number of each caption's image, from 0.
    """
    rows, columns = np.nonzero(~np.isnan(votes) & ((~np.isnan(votes)).sum(axis=1, keepdims=True) >= 2))
    others = votes[rows].copy()
    others[np.arange(len(rows)), columns] = math.nan
    measures = RatingMeasures({"People": votes[rows, columns]}, {"": others}, coefficients, raters)
    return measures, images[rows]


def number_units(image_ids: Sequence[ImageId]) -> NDArray[np.int64]:
    """Return the number of each row's image, from 0 in order of first appearance."""
    numbers = {image: number for number, image in enumerate(dict.fromkeys(image_ids))}
    return np.array([numbers[image] for image in image_ids])
