"""Human judgments of systems: COCO's 2015 challenge, THumB ratings and wins.

Intervals and tests are over images, because judgments of the same image are not independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from capeval._internal.random import draw_resample_counts, make_generator
from capeval._internal.validation import validate_choice
from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.errors.messages import shorten
from capeval.formats.judgments.human_scores import HumanDifference, HumanScore
from capeval.formats.judgments.ratings import Ratings
from capeval.scoring.significance import BootstrapScore, Comparison, Interval, describe_test, difference
from capeval.studies.judging.intervals import create_share_interval
from capeval.studies.judging.options import JudgingOptions
from capeval.studies.judging.points import HUMAN, RANDOM, Standing, leaderboard_points
from capeval.studies.judging.questions import QUESTIONS, Question
from capeval.studies.shared.agreement import Alpha, measure_alpha
from capeval.studies.shared.means import create_mean_score

__all__ = [
    "HUMAN",
    "QUESTIONS",
    "RANDOM",
    "HumanColumn",
    "HumanRow",
    "JudgingOptions",
    "Question",
    "Standing",
    "human_scores",
    "judge",
    "leaderboard_points",
    "thumb_score",
]

_Name = TypeVar("_Name", str, ImageId)


@dataclass(frozen=True, kw_only=True, eq=False)
class HumanRow:
    """Human judgments of one system, by one question.

    Attributes:
        interval: The value and its interval.
        images: The number of images with judgments.
        votes: The number of answers.
        shares: The share of all answers by the answer's label; empty for means.
        alpha: Krippendorff's alpha with its interval; None if it is undefined because all answers are equal,
            or no caption has two.
        resampled: The value in each bootstrap resample of the images.
    """

    interval: Interval
    images: int
    votes: int
    shares: Mapping[str, float]
    alpha: Alpha | None
    resampled: BootstrapScore = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class HumanColumn:
    """Human judgments of systems by one question: a leaderboard column.

    Attributes:
        question: The question.
        rows: The systems, best first.

    Example:
        >>> import numpy as np
        >>> from capeval.formats.judgments.ratings import Ratings
        >>> from capeval.studies.judging import judge
        >>> ratings = Ratings(
        ...     image_ids=(1, 2, 1, 2),
        ...     captions=("A dog.", "Two cats sleep.", "A dog runs.", "A cat."),
        ...     values=np.array([[2.0], [4.0], [4.0], [3.0]]),
        ...     systems=("template", "template", "lstm", "lstm"),
        ... )
        >>> column = judge(ratings, "M3")
        >>> {system: row.interval.score for system, row in column.rows.items()}
        {'lstm': 3.5, 'template': 3.0}
        >>> compared = column.compare("lstm", "template")
        >>> compared.difference, compared.low, compared.high
        (0.5, -1.0, 2.0)
    """

    question: Question
    rows: Mapping[str, HumanRow]

    def compare(self, a: str, b: str) -> Comparison:
        """Test whether two systems differ, by the paired bootstrap over images.

        Raises:
            OptionError: A system is unknown.
        """
        for name in (a, b):
            validate_choice("system", name, tuple(self.rows))
        first, second = self.rows[a], self.rows[b]
        return difference(first.resampled, second.resampled, level=first.interval.level)

    def compare_neighbors(self) -> dict[str, Comparison]:
        """Return the comparison of each system with the next, by the name of the first."""
        return {system: self.compare(system, following) for system, following in pairwise(self.rows)}

    @property
    def notes(self) -> tuple[str, ...]:
        """Footnotes on the value, its interval, the test against the next system, and alpha."""
        measures = f"{self.question.name}: {self.question.measures}"
        # Neighbors are chosen by their values, so the p-values are not corrected for their number.
        tests = {
            f"{describe_test(each).removesuffix('.')}; not corrected for the number of comparisons."
            for each in self.compare_neighbors().values()
        }
        alphas = {row.alpha.note for row in self.rows.values() if row.alpha is not None}
        return (measures, *self._describe_intervals(), *sorted(tests), *sorted(alphas))

    def _describe_intervals(self) -> tuple[str, ...]:
        intervals = {system: row.interval for system, row in self.rows.items()}
        usual = next((each for each in intervals.values() if each.samples), next(iter(intervals.values())))
        others = [system for system, each in intervals.items() if each.method != usual.method]
        if not others:
            return (usual.note,)
        equal = intervals[others[0]].description
        return usual.note, f"With equal values for all images: {equal} ({', '.join(others)})."

    def differences(self) -> tuple[HumanDifference, ...]:
        """Return the comparison of each system with the next, for `differences.csv`."""
        found = []
        for (system, each), following in zip(self.compare_neighbors().items(), [*self.rows][1:], strict=True):
            found.append(
                HumanDifference(
                    question=self.question.name,
                    system=system,
                    next=following,
                    difference=each.difference,
                    low=each.low,
                    high=each.high,
                    p_value=each.p_value,
                    test=f"paired bootstrap over images ({each.samples:,} samples, seed {each.seed})",
                )
            )
        return tuple(found)


def judge(
    ratings: Ratings,
    question: Question | str,
    options: JudgingOptions = JudgingOptions(),  # noqa: B008 - it is immutable.
) -> HumanColumn:
    """Return the value of each system for one question.

    An image with as many yes as no answers counts half.

    Args:
        ratings: The answers to the question, one row per caption, with systems.
        question: The question, or its name in `QUESTIONS`.
        options: The resamples of the images, and the level of the intervals.

    Raises:
        OptionError: The question is unknown.
        MismatchError: Systems are missing, a system has two captions of an image, or an answer is not allowed
            by the question.

    Example:
        >>> import numpy as np
        >>> from capeval.formats.judgments.ratings import Ratings
        >>> from capeval.studies.judging import judge
        >>> captions = ("A dog runs.", "Two cats sleep.")
        >>> values = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
        >>> ratings = Ratings(image_ids=(1, 2), captions=captions, values=values, systems=("lstm", "lstm"))
        >>> row = judge(ratings, "M2").rows["lstm"]
        >>> row.interval.score  # The majority of answers is yes for one of two images.
        0.5
        >>> row.shares
        {'a person': 0.5, 'a machine': 0.5}
    """
    if isinstance(question, str):
        question = QUESTIONS[validate_choice("question", question, tuple(QUESTIONS))]
    if not ratings.systems:
        raise MismatchError("answers must have a system for each caption (got none); add a 'system' column")
    question.check(ratings.values)
    systems, images = _number_names(ratings.systems), _number_names(ratings.image_ids)
    of_system = np.array([systems[name] for name in ratings.systems])
    values = _build_value_table(
        ratings, question, of_system, np.array([images[name] for name in ratings.image_ids])
    )
    resamples = _resample_values(values, options.samples, options.seed)
    rows = {
        name: _build_row(
            question, values[number], ratings.values[of_system == number], resamples[:, number], options
        )
        for name, number in systems.items()
    }
    best_first = sorted(rows, key=lambda name: -rows[name].interval.score)
    return HumanColumn(question=question, rows={name: rows[name] for name in best_first})


def _number_names(names: Sequence[_Name]) -> dict[_Name, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _build_value_table(
    ratings: Ratings, question: Question, of_system: NDArray[np.int64], of_image: NDArray[np.int64]
) -> FloatArray:
    """Return systems by images: each system's value, or NaN without judgments."""
    values = np.full((of_system.max() + 1, of_image.max() + 1), np.nan)
    if question.yes:
        given = (~np.isnan(ratings.values)).sum(axis=1)
        agreeing = np.isin(ratings.values, question.yes).sum(axis=1)
        of_row = (1 + np.sign(2 * agreeing - given)) / 2
    else:
        of_row = np.nanmean(ratings.values, axis=1)
    for row, place in enumerate(zip(of_system.tolist(), of_image.tolist(), strict=True)):
        if not np.isnan(values[place]):
            raise MismatchError(
                f"system {shorten(ratings.systems[row])} must have one caption per image"
                f" (got several of image {shorten(ratings.image_ids[row])})"
            )
        values[place] = of_row[row]
    return values


def _resample_values(values: FloatArray, samples: int, seed: int) -> FloatArray:
    """Return the value of each system in resamples of the images.

    All systems share the resamples.
    """
    rng = make_generator(seed)
    judged = ~np.isnan(values)
    known = np.where(judged, values, 0.0)
    resamples = np.empty((samples, len(values)))
    for number in range(samples):
        weights = draw_resample_counts(values.shape[1], rng).astype(np.float64)
        count = judged @ weights
        if not count.all():
            raise MismatchError(
                f"{values.shape[1]} images are too few for intervals: a resample has no images of some system"
            )
        resamples[number] = known @ weights / count
    return resamples


def _build_row(
    question: Question,
    values: FloatArray,
    answers: FloatArray,
    resamples: FloatArray,
    options: JudgingOptions,
) -> HumanRow:
    """Return the row of a system.

    Args:
        question: The question.
        values: The system's value for each image; NaN without judgments.
        answers: The answers: captions by annotators.
        resamples: The system's value in each resample.
        options: The resamples, and the level of the intervals.
    """
    given, judged = answers[~np.isnan(answers)], values[~np.isnan(values)]
    resampled = create_mean_score(question.name, judged, resamples, seed=options.seed, units=len(values))
    return HumanRow(
        interval=_build_interval(question, judged, resampled, options.level),
        images=len(answers),
        votes=given.size,
        shares={text: float((given == number).mean()) for number, text in question.answers.items()},
        alpha=measure_alpha(
            answers,
            scale=question.alpha_scale,
            samples=options.samples,
            level=options.level,
            seed=options.seed,
        ),
        resampled=resampled,
    )


def _build_interval(
    question: Question, values: FloatArray, resampled: BootstrapScore, level: float
) -> Interval:
    """Return the interval of a system's value.

    The value of a share, or the same mean for all images, has Wilson's interval: all resamples of equal
    images are equal, which does not mean that the value is certain.
    """
    if not question.yes and np.ptp(values) > 0:
        return replace(resampled.interval(level=level), method="BCa bootstrap")
    least, most = (0.0, 1.0) if question.yes else (question.least, question.most)
    scaled = (values - least) / (most - least)
    share = create_share_interval(scaled, np.ones(len(values)), level)
    low, high = (least + end * (most - least) for end in (share.low, share.high))
    return replace(share, score=resampled.score, low=low, high=high)


def thumb_score(precision: FloatArray, recall: FloatArray, *penalties: FloatArray) -> FloatArray:
    """Return THumB's score of captions: mean of precision and recall, with penalties.

    Args:
        precision: From 1 to 5, one per caption.
        recall: From 1 to 5, one per caption.
        penalties: Numbers of at most 0 that are added, for fluency, conciseness and inclusive language.

    Raises:
        MismatchError: A penalty is above 0.

    Example:
        >>> import numpy as np
        >>> from capeval.studies.judging import thumb_score
        >>> precision, recall, fluency = np.array([4.0, 5.0]), np.array([4.0, 3.0]), np.array([0.0, -0.5])
        >>> thumb_score(precision, recall, fluency).tolist()
        [4.0, 3.5]
    """
    if any((each > 0).any() for each in penalties):
        raise MismatchError("penalties must be at most 0 (got a positive number)")
    score: FloatArray = (precision + recall) / 2 + sum(penalties)
    return score


def human_scores(
    columns: Sequence[HumanColumn], *, release: str = "", submissions: Mapping[str, str] | None = None
) -> tuple[HumanScore, ...]:
    """Return the rows of `human.csv`.

    Args:
        columns: The columns.
        release: The release of the judgments.
        submissions: The submission id by system, for systems with a submission.

    Example:
        >>> import numpy as np
        >>> from capeval.formats.judgments.ratings import Ratings
        >>> from capeval.studies.judging import human_scores, judge
        >>> values, systems = np.array([[4.0, 5.0], [2.0, 3.0]]), ("lstm", "template")
        >>> ratings = Ratings(image_ids=(1, 1), captions=("A dog.", "A cat."), values=values, systems=systems)
        >>> rows = human_scores([judge(ratings, "M3")], release="2026-01")
        >>> [(row.system, row.question, row.value, row.votes) for row in rows]
        [('lstm', 'M3', 4.5, 2), ('template', 'M3', 2.5, 2)]
    """
    return tuple(
        HumanScore(
            submission=(submissions or {}).get(system, ""),
            system=system,
            question=column.question.name,
            value=row.interval.score,
            low=row.interval.low,
            high=row.interval.high,
            images=row.images,
            votes=row.votes,
            release=release,
            interval=row.interval.description,
            **_describe_alpha(row.alpha),
        )
        for column in columns
        for system, row in column.rows.items()
    )


def _describe_alpha(alpha: Alpha | None) -> dict[str, Any]:
    """Return the fields of an alpha in `human.csv`."""
    if alpha is None:
        return {}
    return {
        "alpha": alpha.value,
        "alpha_low": alpha.interval.low,
        "alpha_high": alpha.interval.high,
        "alpha_scale": alpha.scale,
        "alpha_interval": alpha.interval.description,
    }
