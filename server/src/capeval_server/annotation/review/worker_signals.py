"""Signals of careless or dishonest workers, from their recorded answers.

A signal is a reason to look at the answers of a worker. It never rejects an answer or blocks a worker. Each
signal compares a worker with the others in the campaign. It is computed after `LOOKS` answers, and after each
hundred answers from then on, so that repeated looks raise few false alarms.
`tests/simulations/worker_signals.py` measures the rates of the signals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capeval.tokenizers import tokenize
from capeval_server.annotation.core.agreement import LIMIT
from capeval_server.annotation.review.likelihood import (
    QuestionAnswers,
    beta_binomial_tail,
    disagreement_p,
    same_choice_p,
)

__all__ = ["LOOKS", "SIGNALS", "RecordedAnswer", "SignalScale", "WorkerSignal", "find_worker_signals"]

SIGNALS = {
    "fast": "Fast",
    "pasted": "Pasted",
    "same": "Always the same",
    "inconsistent": "Inconsistent",
    "disagrees": "Disagrees",
}
"""The signals, with their labels."""

LOOKS = (15, 30, 50, 100)
"""Numbers of answers after which signals are computed; then, after each hundred, from the newest hundred."""

# Largest p-values. Most of the accepted false alarms are spent on disagreement after 30 answers.
_SAME_LEVEL, _INCONSISTENT_LEVEL, _DISAGREES_LEVEL, _DISAGREES_LEVEL_AT_30 = 0.001, 0.0003, 0.0003, 0.005
# Workers with p-values below this multiple of the levels are not compared with.
_SUSPECT_LEVEL = 20.0
# Numbers of repeated items after which the consistency is evaluated.
_REPEAT_LOOKS = (5, 10, 20, 40)
# Smallest share of the most frequent answer of a worker who always answers the same, and of the captions that
# are nearly equal to another one, or pasted.
_SAME_SHARE, _COPIED_SHARE, _PASTED_SHARE = 0.9, 0.5, 0.5
# Share of the words of two nearly equal captions that both have.
_SIMILAR = 0.8
# Largest ratio of a fast worker's median time to that of the other workers.
_FAST_RATIO = 0.2
# A worker is compared with at least this number of others, with at least this number of answers each.
_MIN_OTHERS, _MIN_ANSWERS = 3, 5
# Smallest number of answers to items that others answered, too.
_MIN_COMPARED = 10
# The share of captions that are unlike the others of their image is at least this: 3.1 % in nocaps.
_UNLIKE_RATE = 0.05
_CONCENTRATION = 20.0


@dataclass(frozen=True, kw_only=True)
class WorkerSignal:
    """A reason to look at the answers of a worker.

    Attributes:
        name: Name of the signal, of `SIGNALS`.
        evidence: A sentence with the numbers.
        value: The p-value, the share or the ratio that is compared with the threshold.
        threshold: The threshold.
        answers: Number of answers that it is based on.
    """

    name: str
    evidence: str
    value: float
    threshold: float
    answers: int

    @property
    def label(self) -> str:
        """The label of the signal."""
        return SIGNALS[self.name]


@dataclass(frozen=True, kw_only=True)
class RecordedAnswer:
    """The evaluated parts of a worker's answer to an item.

    Attributes:
        worker: The worker.
        item: The item.
        choices: The choice of each question, in terms of the item; empty for captions.
        mirrored: Whether the sides were shown mirrored.
        seconds: Time per answer of the batch, measured by the server.
        caption: The caption; empty for choices.
        pasted: Number of pasted characters of the caption.
        likeness: CIDEr-D of the caption against the others of its image; None if there are too few.
    """

    worker: int
    item: int
    choices: Mapping[str, str]
    mirrored: bool = False
    seconds: float | None = None
    caption: str = ""
    pasted: float = 0
    likeness: float | None = None


class SignalScale(NamedTuple):
    """The choices of a question.

    Attributes:
        choices: The stored choices, in the order of the scale.
        sides: The choice for the left and for the right side, if the sides are not mirrored; empty if no
            choice stands for a side.
    """

    choices: Sequence[str]
    sides: Sequence[str] = ()


def find_worker_signals(
    answers: Sequence[RecordedAnswer],
    scales: Mapping[str, SignalScale],
    repeats: Mapping[int, Sequence[bool]],
) -> dict[int, tuple[WorkerSignal, ...]]:
    """Return the signals of each flagged worker.

    Workers who look suspicious at a lower level are left out of the answers with which others are compared.

    Args:
        answers: The newest answer of each worker to each item, also to checks, in order of time.
        scales: The choices of each question.
        repeats: By worker, whether each repeated item was answered as before, in order of time.
    """
    suspects = _Comparison(answers, scales, repeats, level=_SUSPECT_LEVEL).find_all()
    return _Comparison(answers, scales, repeats, excluded=frozenset(suspects)).find_all()


def select_looked_at(number: int) -> slice:
    """Return the positions of the answers that are evaluated, of a number of answers."""
    last = LOOKS[-1]
    look = (
        number // last * last if number >= last else max((one for one in LOOKS if one <= number), default=0)
    )
    return slice(max(look - last, 0), look)


class _Comparison:
    """The comparison of each worker with the other ones, without some of them."""

    def __init__(
        self,
        answers: Sequence[RecordedAnswer],
        scales: Mapping[str, SignalScale],
        repeats: Mapping[int, Sequence[bool]],
        *,
        excluded: frozenset[int] = frozenset(),
        level: float = 1.0,
    ) -> None:
        self._answers, self._scales, self._repeats, self._level = answers, scales, repeats, level
        self._rows: dict[int, list[int]] = {}
        for place, one in enumerate(answers):
            self._rows.setdefault(one.worker, []).append(place)
        self._references = {
            worker
            for worker, rows in self._rows.items()
            if worker not in excluded and len(rows) >= _MIN_ANSWERS
        }
        kept = np.array([one.worker in self._references for one in answers], dtype=bool)
        items: dict[int, int] = {}
        item = np.array([items.setdefault(one.item, len(items)) for one in answers], dtype=np.int64)
        self._questions = {}
        for name, scale in scales.items():
            places = {choice: place for place, choice in enumerate(scale.choices)}
            choice = np.array([places[one.choices[name]] for one in answers], dtype=np.int64)
            self._questions[name] = QuestionAnswers(item, choice, len(places), kept)
        self._mirrored = np.array([one.mirrored for one in answers], dtype=bool)
        self._seconds = {worker: self._median_seconds(self._rows[worker]) for worker in self._references}
        self._unlike = {worker: self._count_unlike(self._rows[worker]) for worker in self._references}

    def find_all(self) -> dict[int, tuple[WorkerSignal, ...]]:
        """Return the signals of each flagged worker."""
        found = {worker: tuple(self._find(worker)) for worker in self._rows}
        return {worker: signals for worker, signals in found.items() if signals}

    def _find(self, worker: int) -> Iterator[WorkerSignal]:
        rows = self._rows[worker][select_looked_at(len(self._rows[worker]))]
        others = self._references - {worker}
        compared = len(others) >= _MIN_OTHERS
        if rows:
            yield from self._find_fast(rows, others) if compared else ()
            yield from self._find_pasted(rows)
            yield from self._find_copied(rows)
            yield from self._find_same(worker, rows, compared=compared)
        yield from self._find_inconsistent(worker, others) if compared else ()
        if rows and compared:
            yield from self._find_disagreeing(worker, rows)
            yield from self._find_unlike(rows, others)

    def _median_seconds(self, rows: Iterable[int]) -> float | None:
        seconds = [time for row in rows if (time := self._answers[row].seconds) is not None]
        return median(seconds) if seconds else None

    def _count_unlike(self, rows: Iterable[int]) -> tuple[int, int]:
        """Return the number of captions that are unlike the others of their image, and of compared ones."""
        scores = [score for row in rows if (score := self._answers[row].likeness) is not None]
        return sum(score < LIMIT for score in scores), len(scores)

    def _find_fast(self, rows: Sequence[int], others: set[int]) -> Iterator[WorkerSignal]:
        usual = [time for one in others if (time := self._seconds[one]) is not None]
        own = self._median_seconds(rows)
        if own is None or len(usual) < _MIN_OTHERS:
            return
        ratio = own / median(usual) if median(usual) else 1.0
        if ratio <= _FAST_RATIO:
            text = (
                f"Median time of {own:.1f} s per answer, by the server's clock: {ratio:.2f} times the"
                f" {median(usual):.1f} s of the other workers."
            )
            yield WorkerSignal(
                name="fast", evidence=text, value=ratio, threshold=_FAST_RATIO, answers=len(rows)
            )

    def _find_pasted(self, rows: Sequence[int]) -> Iterator[WorkerSignal]:
        captions = [self._answers[row] for row in rows if self._answers[row].caption]
        pasted = sum(2 * one.pasted >= len(one.caption) for one in captions)
        if captions and pasted >= _PASTED_SHARE * len(captions):
            text = f"At least half of the characters were pasted in {pasted} of {len(captions)} captions."
            yield _build_share("pasted", text, pasted, captions, _PASTED_SHARE)

    def _find_copied(self, rows: Sequence[int]) -> Iterator[WorkerSignal]:
        captions = [self._answers[row].caption for row in rows if self._answers[row].caption]
        copied = _count_similar(captions)
        if captions and copied >= _COPIED_SHARE * len(captions):
            text = f"{copied} of {len(captions)} captions are nearly equal to one of a different image."
            yield _build_share("same", text, copied, captions, _COPIED_SHARE)

    def _find_same(self, worker: int, rows: Sequence[int], *, compared: bool) -> Iterator[WorkerSignal]:
        places, own = np.array(rows), np.array(self._rows[worker])
        tests = sum(1 + bool(scale.sides) for scale in self._scales.values())
        for name, scale in self._scales.items():
            question = self._questions[name]
            probabilities = question.predict(places, own)
            forms = []
            if compared:
                named = [f"“{choice}”" for choice in scale.choices]
                forms.append((named, probabilities, question.choice[places]))
            if scale.sides:
                # Sides are shown in random order, so that they need no comparison.
                sides = ["The left side", "The right side"]
                forms.append((sides, *self._turn(scale, places, probabilities, name)))
            for labels, chances, made in forms:
                counts = np.bincount(made[made >= 0], minlength=len(labels))
                most = int(counts.argmax())
                number = int(counts[most])
                if number < _SAME_SHARE * len(rows):
                    continue
                value = min(1.0, tests * len(labels) * same_choice_p(chances[:, most], number))
                if value <= _SAME_LEVEL * self._level:
                    text = (
                        f"{_name_question(name, self._scales)}{labels[most]} in {number} of"
                        f" {len(rows)} answers; {chances[:, most].sum():.1f} expected from the other workers'"
                        f" answers to these items ({_format_p(value)})."
                    )
                    yield WorkerSignal(
                        name="same", evidence=text, value=value, threshold=_SAME_LEVEL, answers=len(rows)
                    )
                    return

    def _turn(
        self, scale: SignalScale, rows: NDArray[np.int64], probabilities: NDArray[np.float64], name: str
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the probabilities of the shown sides, and the chosen side; -1 for a choice of no side."""
        left, right = (list(scale.choices).index(side) for side in scale.sides)
        mirrored = self._mirrored[rows]
        shown = np.where(mirrored[:, None], [right, left], [left, right])
        made = self._questions[name].choice[rows]
        side = np.where(made == shown[:, 0], 0, np.where(made == shown[:, 1], 1, -1))
        return np.take_along_axis(probabilities, shown, axis=1), side

    def _find_inconsistent(self, worker: int, others: set[int]) -> Iterator[WorkerSignal]:
        own = self._repeats.get(worker, ())
        own = own[: max((one for one in _REPEAT_LOOKS if one <= len(own)), default=0)]
        if not own:
            return
        same, of = sum(own), len(own)
        known = [self._repeats.get(one, ()) for one in others]
        usual, total = sum(map(sum, known)), sum(map(len, known))
        mean = (usual + 8) / (total + 10)
        value = beta_binomial_tail(of - same, of, mean=1 - mean, concentration=_CONCENTRATION)
        if value <= _INCONSISTENT_LEVEL * self._level:
            text = (
                f"{same} of {of} own items, shown again mirrored, were answered as before; the other workers:"
                f" {usual} of {total} ({_format_p(value)})."
            )
            yield WorkerSignal(
                name="inconsistent", evidence=text, value=value, threshold=_INCONSISTENT_LEVEL, answers=of
            )

    def _find_disagreeing(self, worker: int, rows: Sequence[int]) -> Iterator[WorkerSignal]:
        own = np.array(self._rows[worker])
        for name, question in self._questions.items():
            places = np.array(rows)
            places = places[question.others[places].sum(axis=1) > 0]
            if len(places) < _MIN_COMPARED:
                continue
            probabilities, made = question.predict(places, own), question.choice[places]
            value = min(1.0, len(self._questions) * disagreement_p(probabilities, made))
            threshold = _DISAGREES_LEVEL_AT_30 if len(rows) == 30 else _DISAGREES_LEVEL
            if value <= threshold * self._level:
                # The choice that an honest worker would make most often.
                best = probabilities.argmax(axis=1)
                text = (
                    f"{_name_question(name, self._scales)}Agrees with the other workers in"
                    f" {int((best == made).sum())} of {len(places)} answers;"
                    f" {probabilities.max(axis=1).sum():.1f} expected ({_format_p(value)})."
                )
                yield WorkerSignal(
                    name="disagrees",
                    evidence=text,
                    value=value,
                    threshold=threshold,
                    answers=len(places),
                )
                return

    def _find_unlike(self, rows: Sequence[int], others: set[int]) -> Iterator[WorkerSignal]:
        unlike, compared = self._count_unlike(rows)
        if compared < _MIN_COMPARED:
            return
        usual, total = (sum(self._unlike[one][place] for one in others) for place in (0, 1))
        mean = max((usual + 1) / (total + 2), _UNLIKE_RATE)
        value = beta_binomial_tail(unlike, compared, mean=min(mean, 0.99), concentration=_CONCENTRATION)
        if value <= _DISAGREES_LEVEL * self._level:
            text = (
                f"{unlike} of {compared} captions are unlike the others of their image (CIDEr-D below"
                f" {LIMIT}); the other workers: {usual} of {total} ({_format_p(value)})."
            )
            yield WorkerSignal(
                name="disagrees", evidence=text, value=value, threshold=_DISAGREES_LEVEL, answers=compared
            )


def _build_share(
    name: str, evidence: str, number: int, captions: Sequence[object], threshold: float
) -> WorkerSignal:
    share = number / len(captions)
    return WorkerSignal(name=name, evidence=evidence, value=share, threshold=threshold, answers=len(captions))


def _count_similar(captions: Sequence[str]) -> int:
    """Return the number of captions that are nearly equal to another one."""
    if not captions:
        return 0
    words = [set(tokens) for tokens in tokenize(captions)]
    numbers = {word: place for place, word in enumerate(sorted(set().union(*words)))}
    has = np.zeros((len(words), len(numbers)))
    for row, own in enumerate(words):
        has[row, [numbers[word] for word in own]] = 1
    common, sizes = has @ has.T, has.sum(axis=1)
    similar = (common >= _SIMILAR * (sizes[:, None] + sizes - common)) & (common > 0)
    np.fill_diagonal(similar, val=False)
    return int(similar.any(axis=1).sum())


def _name_question(name: str, scales: Mapping[str, SignalScale]) -> str:
    return f"{name}: " if len(scales) > 1 else ""


def _format_p(value: float) -> str:
    return "p < 0.0001" if value < 0.0001 else f"p = {value:.4f}"
