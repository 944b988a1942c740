"""Human judgments of systems: COCO's 2015 challenge, THumB ratings and wins.

Values have bootstrap intervals over images, because judgments of the same image are not independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from capeval._internal.random import draw_resample_counts, make_generator
from capeval._internal.validation import validate_choice
from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import shorten
from capeval.formats.judgments.human_scores import HumanDifference, HumanScore
from capeval.formats.judgments.ratings import Ratings
from capeval.scoring.significance import BootstrapScore, Comparison, Interval, difference
from capeval.studies.judging.options import JudgingOptions
from capeval.studies.plan import krippendorff_alpha
from capeval.studies.shared.coefficients import none_if_undefined

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

HUMAN, RANDOM = "Human", "Random"
"""The rows of every campaign that are not systems: people's captions, and captions of other images."""

_MAX_POINTS = 5
_Name = TypeVar("_Name", str, ImageId)


@dataclass(frozen=True, kw_only=True)
class Question:
    """Question about a caption of an image.

    Attributes:
        name: Its name.
        measures: The meaning of its value.
        answers: The label of each numeric answer; empty if every number from `least` to `most` is allowed.
        yes: The answers that count as yes: the value is the share of images for which most answers are yes.
            If empty, the value is the mean over images of the mean answer.
        least: The smallest number.
        most: The largest number.

    Example:
        >>> import numpy as np
        >>> from capeval.formats.judgments.ratings import Ratings
        >>> from capeval.studies.judging import Question, judge
        >>> question = Question(name="fluency", measures="mean fluency, 1 to 4", most=4)
        >>> captions, values = ("A dog runs.", "Cats a bed."), np.array([[4.0, 4.0], [1.0, 3.0]])
        >>> ratings = Ratings(image_ids=(1, 2), captions=captions, values=values, systems=("lstm", "lstm"))
        >>> judge(ratings, question).rows["lstm"].interval.score
        3.0
    """

    name: str
    measures: str
    answers: Mapping[float, str] = field(default_factory=dict)
    yes: tuple[float, ...] = ()
    least: float = 1.0
    most: float = 5.0

    def check(self, values: FloatArray) -> None:
        """Check that answers are allowed by the question.

        Raises:
            MismatchError: An answer is not allowed.
        """
        given = values[~np.isnan(values)]
        right = (
            np.isin(given, list(self.answers))
            if self.answers
            else (given >= self.least) & (given <= self.most)
        )
        if not right.all():
            wanted = (
                ", ".join(f"{number:g} ({text})" for number, text in self.answers.items())
                or f"from {self.least:g} to {self.most:g}"
            )
            raise MismatchError(f"answers to {self.name} must be {wanted} (got {given[~right][0]:g})")


QUESTIONS: Mapping[str, Question] = MappingProxyType(
    {
        question.name: question
        for question in (
            Question(
                name="M1",
                measures="share of images with a majority for better than or equal to a person's caption",
                answers={1.0: "better", 0.0: "equal", -1.0: "worse"},
                yes=(1.0, 0.0),
            ),
            Question(
                name="M2",
                measures="share of images with a majority for a caption written by a person",
                answers={1.0: "a person", 0.0: "a machine"},
                yes=(1.0,),
            ),
            Question(name="M3", measures="mean correctness, 1 to 5"),
            Question(name="M4", measures="mean amount of detail, 1 to 5"),
            Question(
                name="M5",
                measures="share of images with a majority for the same meaning as a person's caption",
                answers={1.0: "the same", 0.0: "not the same"},
                yes=(1.0,),
            ),
            Question(name="P", measures="mean precision (THumB), 1 to 5"),
            Question(name="R", measures="mean recall (THumB), 1 to 5"),
            # Three penalties of 0.5 lower the score of a caption with P = R = 1 to -0.5.
            Question(name="THumB", measures="mean of (P + R) / 2 with penalties", least=-0.5),
        )
    }
)
"""M1 to M5 of COCO's challenge of 2015, and THumB's ratings (Kasai et al. 2022), by name."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HumanRow:
    """Human judgments of one system, by one question.

    Attributes:
        interval: The value and its interval.
        images: The number of images with judgments.
        votes: The number of answers.
        shares: The share of all answers by the answer's label; empty for means.
        alpha: Krippendorff's alpha; None if it is undefined because all answers are equal, or no caption has
            two.
        resampled: The value in each bootstrap resample of the images.
    """

    interval: Interval
    images: int
    votes: int
    shares: Mapping[str, float]
    alpha: float | None
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

    def differences(self) -> tuple[HumanDifference, ...]:
        """Return the comparison of each system with the next, for `differences.csv`."""
        found = []
        for system, following in pairwise(self.rows):
            each = self.compare(system, following)
            found.append(
                HumanDifference(
                    question=self.question.name,
                    system=system,
                    next=following,
                    difference=each.difference,
                    low=each.low,
                    high=each.high,
                    p_value=each.p_value,
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
    rows = {}
    for name, number in systems.items():
        resampled = BootstrapScore(
            name=question.name,
            score=float(np.nanmean(values[number])),
            values=resamples[:, number],
            seed=options.seed,
        )
        rows[name] = _build_row(question, ratings.values[of_system == number], resampled, options.level)
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


def _build_row(question: Question, answers: FloatArray, resampled: BootstrapScore, level: float) -> HumanRow:
    given = answers[~np.isnan(answers)]
    scale = "nominal" if question.answers else "interval"
    return HumanRow(
        interval=resampled.interval(level=level),
        images=len(answers),
        votes=given.size,
        shares={text: float((given == number).mean()) for number, text in question.answers.items()},
        alpha=none_if_undefined(krippendorff_alpha, answers, difference=scale),
        resampled=resampled,
    )


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


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Place of a system by the points of COCO's 2015 challenge.

    Attributes:
        system: The system.
        points: Its points by M1 and by M2.
        total: Their sum.
        place: Its place; systems with equal points share a place.
    """

    system: str
    points: Mapping[str, int]
    total: int
    place: int


def leaderboard_points(
    columns: Mapping[str, Mapping[str, float]], *, without: Sequence[str] = (HUMAN, RANDOM)
) -> tuple[Standing, ...]:
    """Return the points of COCO's 2015 challenge.

    The best five systems by M1, and by M2, get 5, 4, 3, 2 and 1 points. Systems with equal values get the
    points of the best of their places.

    Args:
        columns: The value of each system by question, M1 and M2.
        without: The rows that get no points.

    Returns:
        All systems, sorted by descending points and then by name.

    Raises:
        OptionError: The questions are not M1 and M2.
        MismatchError: The questions have different systems.

    Example:
        >>> from capeval.studies.judging import leaderboard_points
        >>> m1 = {"Human": 0.6, "transformer": 0.3, "lstm": 0.2, "template": 0.1}
        >>> m2 = {"Human": 0.7, "transformer": 0.3, "lstm": 0.3, "template": 0.1}
        >>> standings = leaderboard_points({"M1": m1, "M2": m2})
        >>> [(each.place, each.system, each.total) for each in standings]
        [(1, 'transformer', 10), (2, 'lstm', 9), (3, 'template', 6)]
    """
    if set(columns) != {"M1", "M2"}:
        raise OptionError(f"'columns' must be M1 and M2 (got {', '.join(columns) or 'none'})")
    if set(columns["M1"]) != set(columns["M2"]):
        raise MismatchError("M1 and M2 must have the same systems")
    systems = [name for name in columns["M1"] if name not in without]
    points = {
        name: {question: _compute_points(columns[question], name, systems) for question in ("M1", "M2")}
        for name in systems
    }
    totals = {name: sum(each.values()) for name, each in points.items()}
    return tuple(
        Standing(
            system=name,
            points=points[name],
            total=totals[name],
            place=1 + sum(other > totals[name] for other in totals.values()),
        )
        for name in sorted(systems, key=lambda name: (-totals[name], name))
    )


def _compute_points(values: Mapping[str, float], name: str, systems: Sequence[str]) -> int:
    better = sum(values[other] > values[name] for other in systems)
    return max(0, _MAX_POINTS - better)


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
            alpha=row.alpha,
            release=release,
        )
        for column in columns
        for system, row in column.rows.items()
    )
