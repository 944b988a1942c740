"""Simulated rates of the signals of workers: false alarms, and detected bad workers.

::

    pytest -n 0 -s -m conformance tests/server/annotation/test_worker_signals.py

Each trial is a campaign of 20 honest workers and 5 bad ones of one kind, who answer 100 items each. The
signals are computed after 15, 20, 30, 40, 50, 70 and 100 answers of each worker. A bad worker is found if any
signal of the worker is raised within the first 30 answers. An honest worker with any signal at any time is a
false alarm.

- Triplets (3 answers per item) and pairs (11 answers): people agree as in the four classes of PASCAL-50S.
- Ratings from 1 to 5, and THumB's five questions (3 answers): the noise of an answer is 0.6 points, and the
  level of a worker varies by 0.3 points. Points are rarely taken off.
- Yes or no (3 answers): three of four captions have the same meaning, and people agree with it in 88 %.
- Captions (5 per image): people name most of the image's objects, in their own order, and one caption in
  thirty names none of them.

An honest worker answers up to one item in ten without looking. The usual time of a worker varies by a factor
of 1.6. Repeated items are one in 50, as by default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from capeval_server.annotation.core.agreement import score_agreement
from capeval_server.annotation.review.worker_signals import (
    RecordedAnswer,
    SignalScale,
    find_worker_signals,
)

__all__ = ["KINDS", "Rates", "SimulatedCampaign", "measure_rates", "simulate"]

HONEST, OTHERS = 20, 5
ANSWERS, WITHIN = 100, 30
# Numbers of answers after which the signals are computed.
TIMES = (15, 20, 30, 40, 50, 70, 100)
# Krippendorff's alpha of the classes HC, MM, HM and HI; with two choices, it is the square of 2p - 1.
ALPHAS = np.array([0.21, 0.48, 0.86, 0.92])
POINTS = tuple("12345")
PENALTIES = ("0", "0.1", "0.2", "0.3", "0.4", "0.5")
Generator = np.random.Generator


@dataclass(frozen=True)
class Kind:
    """A task type: its questions, answers per item, and the choice of an honest worker.

    Attributes:
        scales: The choices of each question; none for captions.
        votes: Answers per item.
        seconds: Usual time per answer.
        bad: The kinds of bad workers.
    """

    scales: dict[str, SignalScale]
    votes: int
    seconds: float
    bad: tuple[str, ...] = ("same", "random", "fast")


_PAIR = {"choice": SignalScale(("first", "second"), ("first", "second"))}
KINDS = {
    "triplet": Kind(_PAIR, 3, 6),
    "pairwise": Kind(_PAIR, 11, 8),
    "m3": Kind({"choice": SignalScale(POINTS)}, 3, 10),
    "rating": Kind(
        {
            "precision": SignalScale(POINTS),
            "recall": SignalScale(POINTS),
            "fluency": SignalScale(PENALTIES),
            "conciseness": SignalScale(PENALTIES),
            "inclusive": SignalScale(PENALTIES),
        },
        3,
        30,
    ),
    "m5": Kind({"choice": SignalScale(("yes", "no"))}, 3, 8),
    "write": Kind({}, 5, 60, ("same", "random", "fast", "pasted")),
}


@dataclass
class SimulatedWorker:
    """A worker's habits."""

    bad: str
    lapses: float
    speed: float
    side: float
    level: float
    done: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class SimulatedCampaign:
    """Answers in order of time, with the kind of each bad worker."""

    kind: Kind
    answers: list[RecordedAnswer]
    repeats: dict[int, list[bool]]
    bad: dict[int, str]


def simulate(
    name: str, bad: Sequence[str], generator: Generator, answers_each: int = ANSWERS, check_every: int = 0
) -> SimulatedCampaign:
    """Simulate a campaign with bad workers of some kinds, in turn, and one check in `check_every` answers."""
    kind = KINDS[name]
    workers = [
        SimulatedWorker(
            bad=bad[number % len(bad)] if number >= HONEST else "",
            lapses=generator.uniform(0, 0.1),
            speed=float(np.exp(generator.normal(0, 0.45))),
            side=generator.normal(0, 0.2),
            level=generator.normal(0, 0.3),
        )
        for number in range(HONEST + OTHERS)
    ]
    free: dict[int, int] = {}
    answers = []
    repeats: dict[int, list[bool]] = {}
    truths: dict[int, object] = {}
    # The first incomplete item.
    begin = 0
    for turn in range(answers_each):
        for number in generator.permutation(len(workers)).tolist():
            worker = workers[number]
            if check_every and turn % check_every == check_every - 1:
                # Every worker has the same checks, with negative numbers.
                check = -1 - turn // check_every
                truth = truths.setdefault(check, _draw_check_truth(name, generator))
                answers.append(_answer(name, number, check, truth, worker, generator))
                continue
            while not free.get(begin, kind.votes):
                begin += 1
            item = next(one for one in count(begin) if free.get(one, kind.votes) and one not in worker.done)
            free[item] = free.get(item, kind.votes) - 1
            worker.done.add(item)
            truth = truths.setdefault(item, _draw_truth(name, generator))
            answers.append(_answer(name, number, item, truth, worker, generator))
            if name in ("triplet", "pairwise") and turn % 50 == 49:
                again = _answer(name, number, item, truth, worker, generator)
                repeats.setdefault(number, []).append(again.choices == answers[-1].choices)
    habits = {number: worker.bad for number, worker in enumerate(workers) if worker.bad}
    return SimulatedCampaign(kind, answers, repeats, habits)


def _draw_truth(name: str, generator: Generator) -> object:
    if name in ("triplet", "pairwise"):
        likely = (1 + np.sqrt(generator.choice(ALPHAS))) / 2
        return float(likely if generator.random() < 0.5 else 1 - likely)
    if name == "m5":
        return 0.88 if generator.random() < 0.75 else 0.12
    if name == "write":
        return generator.choice(300, 4, replace=False)
    return generator.uniform(1, 5.4, 2)


def _draw_check_truth(name: str, generator: Generator) -> object:
    """Return the truth of an item with an obvious answer."""
    first = generator.random() < 0.5
    if name in ("triplet", "pairwise", "m5"):
        return 0.98 if first else 0.02
    return np.full(2, 1.0 if first else 5.0)


def _answer(
    name: str, number: int, item: int, truth: object, worker: SimulatedWorker, generator: Generator
) -> RecordedAnswer:
    kind = KINDS[name]
    mirrored = bool(generator.random() < 0.5) and name in ("triplet", "pairwise")
    usual = 0.5 if worker.bad == "fast" else kind.seconds * worker.speed
    made = RecordedAnswer(
        worker=number,
        item=item,
        choices={},
        mirrored=mirrored,
        seconds=float(usual * np.exp(generator.normal(0, 0.6))),
    )
    if name == "write":
        return _write(made, truth, worker, generator)
    lapsed = worker.bad == "random" or (worker.bad != "same" and generator.random() < worker.lapses)
    if worker.bad == "same":
        choices = {
            part: scale.choices[mirrored if scale.sides else (-2 if len(scale.choices) == 5 else 0)]
            for part, scale in kind.scales.items()
        }
    elif lapsed:
        choices = {part: str(generator.choice(scale.choices)) for part, scale in kind.scales.items()}
    else:
        choices = dict(_choose(name, truth, worker, generator, mirrored=mirrored))
    return replace(made, choices=choices)


def _choose(
    name: str, truth: object, worker: SimulatedWorker, generator: Generator, *, mirrored: bool
) -> Iterator[tuple[str, str]]:
    if isinstance(truth, float):
        shift = np.exp(worker.side * (-1 if mirrored else 1))
        odds = truth / (1 - truth) * shift
        yield "choice", KINDS[name].scales["choice"].choices[int(generator.random() >= odds / (1 + odds))]
        return
    assert isinstance(truth, np.ndarray)
    for number, (part, scale) in enumerate(KINDS[name].scales.items()):
        if len(scale.choices) == 5:
            noisy = truth[number] + worker.level + generator.normal(0, 0.6)
            yield part, scale.choices[int(np.clip(np.rint(noisy), 1, 5)) - 1]
        else:
            off = generator.random() < 0.05
            yield part, str(generator.choice(scale.choices[1:])) if off else scale.choices[0]


def _write(
    made: RecordedAnswer, objects: object, worker: SimulatedWorker, generator: Generator
) -> RecordedAnswer:
    assert isinstance(objects, np.ndarray)
    if worker.bad == "same":
        return replace(made, caption="a nice picture of some things that are very good")
    off = worker.bad == "random" or generator.random() < 1 / 30
    named = generator.choice(300, 4, replace=False) if off else objects
    chosen = generator.permutation(named)[: generator.integers(2, 5)]
    filler = generator.choice(["on", "with", "near", "behind", "and", "under"], 4)
    text = " ".join(f"a noun{one} {word}" for one, word in zip(chosen, filler, strict=False)) + " the street"
    pastes = worker.bad == "pasted" or generator.random() < 0.05
    return replace(made, caption=text, pasted=len(text) if pastes else 0)


@dataclass(frozen=True)
class Rates:
    """Counts of a simulation.

    Attributes:
        honest: Number of honest workers.
        alarms: Number of honest workers with a signal, by its name.
        bad: Number of bad workers.
        found: Number of those with a signal within the first 30 answers.
        missed: Kinds of the others.
    """

    honest: int
    alarms: Counter[str]
    bad: int
    found: int
    missed: Counter[str]


def measure_rates(
    name: str,
    bad: Sequence[str],
    *,
    trials: int,
    seed: int = 0,
    times: Sequence[int] = TIMES,
    check_every: int = 0,
) -> Rates:
    """Return the false alarms and the bad workers found in some campaigns."""
    generator = np.random.default_rng([seed, *map(ord, name + "".join(bad))])
    alarms: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for _ in range(trials):
        made = simulate(name, bad, generator, max(times), check_every)
        alarmed: dict[int, str] = {}
        for number in times:
            so_far = made.answers[: number * (HONEST + OTHERS)]
            if name == "write":
                so_far = _score(so_far)
            repeats = {who: again[: number // 50] for who, again in made.repeats.items()}
            signals = find_worker_signals(so_far, made.kind.scales, repeats)
            for who, found in signals.items():
                alarmed.setdefault(who, found[0].name)
            if number == WITHIN:
                missed.update(kind for who, kind in made.bad.items() if who not in alarmed)
        alarms.update(signal for who, signal in alarmed.items() if who not in made.bad)
    return Rates(HONEST * trials, alarms, OTHERS * trials, OTHERS * trials - missed.total(), missed)


def _score(answers: list[RecordedAnswer]) -> list[RecordedAnswer]:
    by_item: dict[int | str, list[int]] = {}
    for place, one in enumerate(answers):
        by_item.setdefault(one.item, []).append(place)
    scores = score_agreement(
        {item: [answers[place].caption for place in rows] for item, rows in by_item.items()}
    )
    likeness = {
        place: score
        for item, found in scores.items()
        for place, score in zip(by_item[item], found, strict=True)
    }
    return [replace(one, likeness=likeness.get(place)) for place, one in enumerate(answers)]
