"""Pairs of captions of one image that people and a metric order differently."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from capeval.data.scores import FloatArray
from capeval.formats.judgments.plans import Pair
from capeval.studies.consensus.judged_pairs import JudgedPairs
from capeval.studies.metric.compute import CaptionJudgments, MetricStudy
from capeval.studies.metric.observations import average_ratings

__all__ = ["pair_captions"]


def pair_captions(study: MetricStudy, judged: CaptionJudgments) -> JudgedPairs:
    """Return pairs of captions, of which people rate the first better.

    For each score and image, it is the pair whose order by the score is wrong with the largest difference;
    images without such a pair are left out. Ratings are those of the last question, which is THumB's total.

    Args:
        study: The study.
        judged: Its captions.
    """
    ratings = average_ratings(list(judged.ratings.values())[-1])[:, 0]
    images: dict[object, list[int]] = {}
    for row, image in enumerate(judged.image_ids):
        if not np.isnan(ratings[row]):
            images.setdefault(image, []).append(row)
    signed = {name: study.signs[name] * values for name, values in study.scores.items()}
    chosen: dict[tuple[int, int], None] = {}
    for rows in map(np.array, images.values()):
        for values in signed.values():
            if (pair := _find_largest(rows, ratings, values)) is not None:
                chosen[pair] = None
    first, second = np.array(list(chosen), dtype=np.int64).reshape(-1, 2).T
    pairs = tuple(
        Pair(
            image=judged.image_ids[a],
            first=judged.captions[a],
            second=judged.captions[b],
            references=judged.references[a],
            votes=(1,),
        )
        for a, b in chosen
    )
    return JudgedPairs(
        pairs=pairs,
        votes={"people": ((1,),) * len(pairs)},
        winners={"people": np.ones(len(pairs), dtype=np.int64)},
        scores={name: np.stack([each[first], each[second]], axis=1) for name, each in study.scores.items()},
        differences={name: values[first] - values[second] for name, values in signed.items()},
    )


def _find_largest(rows: NDArray[np.int64], ratings: FloatArray, scores: FloatArray) -> tuple[int, int] | None:
    """Return the rows of the better and the worse caption with the largest wrong difference of scores."""
    of_people = ratings[rows][:, None] - ratings[rows][None, :]
    of_metric = scores[rows][:, None] - scores[rows][None, :]
    wrong = np.where(of_people > 0, of_metric, 0.0)
    a, b = np.unravel_index(int(wrong.argmin()), wrong.shape)
    return (int(rows[a]), int(rows[b])) if wrong[a, b] < 0 else None
