"""How often people prefer each system's captions to the others', from their answers to a plan."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from capeval._internal.random import generator, resample_counts
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.scoring.significance import Resampled
from capeval.studies.judging import HUMAN, RANDOM, HumanColumn, HumanRow, JudgingOptions, Question
from capeval.studies.judging.bradley_terry import bradley_terry, is_connected
from capeval.studies.plan import krippendorff_alpha
from capeval.studies.shared.coefficients import if_defined
from capeval.studies.votes import PlanVotes

__all__ = ["STRENGTH", "WINS", "judge_wins", "row_of"]

WINS = Question(
    name="wins", measures="part of its pairs that the system wins, a tie as half a win", least=0.0
)
STRENGTH = Question(
    name="Bradley-Terry",
    measures="strength, the logarithm of the odds to win: 0 is the mean of all",
)

# What plans call those that are no systems.
_ROWS = {"human": HUMAN, "other": RANDOM}


def row_of(writer: str) -> str:
    """The row of a writer of a plan: its name, but Human for `human`, and Random for `other`."""
    return _ROWS.get(writer, writer)


def judge_wins(
    votes: PlanVotes,
    options: JudgingOptions = JudgingOptions(),  # noqa: B008 - it is immutable.
) -> tuple[HumanColumn, ...]:
    """The fraction of wins of each system, and its strength by the model of Bradley and Terry.

    Pairs of two captions by the same writer, as those of `HC`, are left out. `human` and `other` of a plan
    are the rows Human and Random. For strengths each two systems that met have one tie more: without it a
    system that never wins, as Random may, would have none.

    Args:
        votes: The votes on a plan.
        options: The resamples of the images, which all systems share, and the level of the intervals.

    Returns:
        `WINS`, and `STRENGTH` where the pairs connect all systems.

    Raises:
        MismatchError: No pair is of two systems, a writer is not known, or there are too few images for
            intervals.
    """
    played = _Played(votes)
    tables = played.tables(options.samples, options.seed)
    met = (played.table + played.table.T) > 0
    found = [_column(WINS, played, _fractions(played.table), _fractions(tables), options)]
    if is_connected(met.astype(np.float64)):
        strengths = [bradley_terry(table + met / 2) for table in (played.table, *tables)]
        found.append(_column(STRENGTH, played, strengths[0], np.array(strengths[1:]), options))
    return tuple(found)


class _Played:
    """The pairs of two systems: who met whom, about which image, and who won."""

    def __init__(self, votes: PlanVotes) -> None:
        # By their rows: a plan may call people `human`, and another file of the same study `Human`.
        writers = [(row_of(pair.first_by or ""), row_of(pair.second_by or "")) for pair in votes.pairs]
        self.places = np.array([one != other for one, other in writers], dtype=np.bool_)
        if not self.places.any():
            raise MismatchError("wins need pairs of two systems (got pairs by the same writer alone)")
        of_pairs = [names for names, kept in zip(writers, self.places, strict=True) if kept]
        if any("" in names for names in of_pairs):
            raise MismatchError("wins need the writers of both captions of a pair (got a pair without them)")
        numbers = {
            name: number for number, name in enumerate(sorted({n for names in of_pairs for n in names}))
        }
        self.systems = tuple(numbers)
        self.players = np.array([[numbers[name] for name in names] for names in of_pairs])
        images = [pair.image for pair, kept in zip(votes.pairs, self.places, strict=True) if kept]
        self.image = np.unique([str(image) for image in images], return_inverse=True)[1]
        self.points = (1 + votes.winners[self.places]) / 2
        self.table = self._table(np.ones(len(of_pairs)))
        # The answers to the questions about these pairs, and whom each question is about.
        asked = self.places[votes.pair_of]
        self.answers = votes.answers[asked]
        self.asked_about = self.players[(np.cumsum(self.places) - 1)[votes.pair_of[asked]]]

    def _table(self, weights: FloatArray) -> FloatArray:
        """How often each row's system wins against each column's."""
        count = len(self.systems)
        first, second = self.players.T
        table: FloatArray = np.zeros((count, count))
        np.add.at(table, (first, second), weights * self.points)
        np.add.at(table, (second, first), weights * (1 - self.points))
        return table

    def tables(self, samples: int, seed: int) -> FloatArray:
        """The tables of resamples of the images."""
        rng = generator(seed)
        count = int(self.image.max()) + 1
        made = np.array(
            [self._table(resample_counts(count, rng).astype(np.float64)[self.image]) for _ in range(samples)]
        )
        if not (made.sum(axis=2) + made.sum(axis=1)).all():
            raise MismatchError(
                f"{count} images are too few for intervals: a resample has no pair of some system"
            )
        return made


def _fractions(tables: FloatArray) -> FloatArray:
    won = tables.sum(axis=-1)
    fractions: FloatArray = won / (won + tables.sum(axis=-2))
    return fractions


def _column(
    question: Question,
    played: _Played,
    values: FloatArray,
    resamples: FloatArray,
    options: JudgingOptions,
) -> HumanColumn:
    rows = {}
    for number in np.argsort(-values, kind="stable").tolist():
        resampled = Resampled(
            name=question.name, score=float(values[number]), values=resamples[:, number], seed=options.seed
        )
        answers = played.answers[(played.asked_about == number).any(axis=1)]
        judged: NDArray[np.bool_] = (played.players == number).any(axis=1)
        rows[played.systems[number]] = HumanRow(
            interval=resampled.interval(level=options.level),
            images=len(np.unique(played.image[judged])),
            votes=int((~np.isnan(answers)).sum()),
            shares={},
            alpha=if_defined(krippendorff_alpha, answers),
            resampled=resampled,
        )
    return HumanColumn(question=question, rows=rows)
