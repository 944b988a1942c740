"""Win rates and strengths of systems, from the votes on a plan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from capeval._internal.random import draw_resample_counts, make_generator
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.scoring.intervals import compute_t_quantile
from capeval.scoring.significance import BootstrapScore, Interval
from capeval.studies.judging.bradley_terry import (
    compute_strength_errors,
    compute_win_probabilities,
    fit_bradley_terry,
    is_connected,
)
from capeval.studies.judging.compute import HumanColumn, HumanRow
from capeval.studies.judging.intervals import create_share_interval
from capeval.studies.judging.options import JudgingOptions
from capeval.studies.judging.points import HUMAN, RANDOM
from capeval.studies.judging.questions import Question
from capeval.studies.shared.agreement import measure_alpha
from capeval.studies.votes import PlanVotes

__all__ = ["STRENGTH", "WINS", "get_row_name", "judge_wins"]

WINS = Question(
    name="wins",
    measures="share of its pairs that the system wins; a tie is half a win",
    least=0.0,
    most=1.0,
    scale="nominal",
)
STRENGTH = Question(
    name="Bradley-Terry",
    measures="strength as log-odds of winning; the mean of all systems is 0; a tie is half a win, and any two"
    " systems that met have one additional tie",
    scale="nominal",
)

# Names of writers in plans that are not systems.
_ROW_NAMES = {"human": HUMAN, "other": RANDOM}


def get_row_name(writer: str) -> str:
    """Return the row name of a plan's writer: Human for `human`, Random for `other`.

    Other writers keep their names.

    Example:
        >>> from capeval.studies.judging.wins import get_row_name
        >>> [get_row_name(writer) for writer in ("human", "other", "up-down")]
        ['Human', 'Random', 'up-down']
    """
    return _ROW_NAMES.get(writer, writer)


def judge_wins(
    votes: PlanVotes,
    options: JudgingOptions = JudgingOptions(),  # noqa: B008 - it is immutable.
) -> tuple[HumanColumn, ...]:
    """Return the fraction of wins and the Bradley-Terry strength of each system.

    Pairs of two captions by the same writer, such as `HC` pairs, are excluded. The writers `human` and
    `other` of a plan become the rows Human and Random. For strengths, every two systems that met have one
    additional tie: without it, a system that never wins, such as Random, would have no strength.

    Args:
        votes: The votes on a plan.
        options: The resamples of the images, which all systems share, and the level of the intervals.

    Returns:
        `WINS`, and also `STRENGTH` if the pairs connect all systems and show at least two images.

    Raises:
        MismatchError: No pair has two systems, a writer is unknown, or there are too few images for
            intervals.

    Example:
        Up-Down wins three pairs to one. With the additional tie, the odds are 3.5 to 1.5, and the
        strengths differ by their logarithm, 0.847:

        >>> from capeval.formats.judgments.plans import Pair
        >>> from capeval.studies.judging.wins import judge_wins
        >>> from capeval.studies.votes import count_pair_votes
        >>> by = {"first_by": "up-down", "second_by": "trigram"}
        >>> pairs = [Pair(image=image, first="A dog runs.", second="A dog dog.", **by) for image in range(4)]
        >>> wins, strength = judge_wins(count_pair_votes(pairs, [[1], [1], [1], [-1]]))
        >>> {system: row.interval.score for system, row in wins.rows.items()}
        {'up-down': 0.75, 'trigram': 0.25}
        >>> {system: round(row.interval.score, 3) for system, row in strength.rows.items()}
        {'up-down': 0.424, 'trigram': -0.424}
    """
    played = _ComparedPairs(votes)
    tables = played.tables(options.samples, options.seed)
    met = (played.table + played.table.T) > 0
    found = [
        _build_column(
            WINS, played, played.measure_fractions(options.level), _compute_fractions(tables), options
        )
    ]
    if is_connected(met.astype(np.float64)) and played.images > 1:
        strengths = np.array([fit_bradley_terry(table + met / 2) for table in tables])
        found.append(
            _build_column(STRENGTH, played, played.measure_strengths(options.level), strengths, options)
        )
    return tuple(found)


class _ComparedPairs:
    """Pairs of two systems, with their images and winners."""

    def __init__(self, votes: PlanVotes) -> None:
        # Rows, because a plan may use `human` and another file of the same study `Human`.
        writers = [
            (get_row_name(pair.first_by or ""), get_row_name(pair.second_by or "")) for pair in votes.pairs
        ]
        self.places = np.array([one != other for one, other in writers], dtype=np.bool_)
        if not self.places.any():
            raise MismatchError("wins need pairs of two systems (got only pairs by the same writer)")
        of_pairs = [names for names, kept in zip(writers, self.places, strict=True) if kept]
        if any("" in names for names in of_pairs):
            raise MismatchError("wins need the writers of both captions of a pair (one has no writers)")
        numbers = {
            name: number for number, name in enumerate(sorted({n for names in of_pairs for n in names}))
        }
        self.systems = tuple(numbers)
        self.players = np.array([[numbers[name] for name in names] for names in of_pairs])
        images = [pair.image for pair, kept in zip(votes.pairs, self.places, strict=True) if kept]
        self.image = np.unique([str(image) for image in images], return_inverse=True)[1]
        self.images = int(self.image.max()) + 1
        self.points = (1 + votes.winners[self.places]) / 2
        self.table = self._count_wins(np.ones(len(of_pairs)))
        # The answers to the questions about these pairs, and the two systems of each question.
        asked = self.places[votes.pair_of]
        pair_of = (np.cumsum(self.places) - 1)[votes.pair_of[asked]]
        self.answers = votes.answers[asked]
        self.asked_about = self.players[pair_of]
        self.asked_image = self.image[pair_of]

    def _count_wins(self, weights: FloatArray) -> FloatArray:
        """Return the wins of each row's system against each column's."""
        count = len(self.systems)
        first, second = self.players.T
        table: FloatArray = np.zeros((count, count))
        np.add.at(table, (first, second), weights * self.points)
        np.add.at(table, (second, first), weights * (1 - self.points))
        return table

    def _sum_by_image(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the sums of numbers of the two systems of each pair: images by systems."""
        sums = np.zeros((self.images, len(self.systems)))
        np.add.at(sums, (self.image, self.players[:, 0]), first)
        np.add.at(sums, (self.image, self.players[:, 1]), second)
        return sums

    def measure_fractions(self, level: float) -> list[Interval]:
        """Return the fraction of wins of each system, with its interval."""
        won = self._sum_by_image(self.points, 1 - self.points)
        ones = np.ones(len(self.points))
        compared = self._sum_by_image(ones, ones)
        return [
            create_share_interval(points[of > 0], of[of > 0], level)
            for points, of in zip(won.T, compared.T, strict=True)
        ]

    def measure_strengths(self, level: float) -> list[Interval]:
        """Return the strength of each system, with one additional tie for systems that met."""
        wins = self.table + ((self.table + self.table.T) > 0) / 2
        strengths = fit_bradley_terry(wins)
        expected = compute_win_probabilities(strengths)[self.players[:, 0], self.players[:, 1]]
        surplus = self._sum_by_image(self.points - expected, expected - self.points)
        errors = compute_strength_errors(wins, strengths, surplus)
        reaches = compute_t_quantile((1 - level) / 2, self.images - 1) * errors
        return [
            Interval(
                score=strength,
                low=strength - reach,
                high=strength + reach,
                level=level,
                samples=0,
                seed=0,
                method="cluster-robust",
            )
            for strength, reach in zip(strengths.tolist(), reaches.tolist(), strict=True)
        ]

    def tables(self, samples: int, seed: int) -> FloatArray:
        """Return the tables of wins in resamples of the images."""
        rng = make_generator(seed)
        made = np.array(
            [
                self._count_wins(draw_resample_counts(self.images, rng).astype(np.float64)[self.image])
                for _ in range(samples)
            ]
        )
        if not (made.sum(axis=2) + made.sum(axis=1)).all():
            raise MismatchError(
                f"{self.images} images are too few for intervals: a resample has no pairs of some system"
            )
        return made


def _compute_fractions(tables: FloatArray) -> FloatArray:
    won = tables.sum(axis=-1)
    fractions: FloatArray = won / (won + tables.sum(axis=-2))
    return fractions


def _build_column(
    question: Question,
    played: _ComparedPairs,
    intervals: Sequence[Interval],
    resamples: FloatArray,
    options: JudgingOptions,
) -> HumanColumn:
    rows = {}
    best_first = sorted(range(len(intervals)), key=lambda number: -intervals[number].score)
    for number in best_first:
        asked = (played.asked_about == number).any(axis=1)
        judged: NDArray[np.bool_] = (played.players == number).any(axis=1)
        rows[played.systems[number]] = HumanRow(
            interval=intervals[number],
            images=len(np.unique(played.image[judged])),
            votes=int((~np.isnan(played.answers[asked])).sum()),
            shares={},
            alpha=measure_alpha(
                played.answers[asked],
                scale=question.alpha_scale,
                units=played.asked_image[asked].tolist(),
                samples=options.samples,
                level=options.level,
                seed=options.seed,
            ),
            resampled=BootstrapScore(
                name=question.name,
                score=intervals[number].score,
                values=resamples[:, number],
                seed=options.seed,
                units=played.images,
            ),
        )
    return HumanColumn(question=question, rows=rows)
