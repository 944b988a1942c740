"""Beam search that keeps the best captions of each state of a machine (Anderson et al. 2017).

The captioner is a function `step`: the last tokens of some captions and what it knows of them go in, the
log-probabilities of all next tokens come out. One image is searched at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from capeval.errors import OptionError
from capeval.toolkit import checked_integer
from capeval_decoding.state_machines import StateMachine

__all__ = ["Beam", "BeamSearch", "SearchResult", "Select", "Step", "select_rows"]

State = TypeVar("State")

Step = Callable[[NDArray[np.int64], State], tuple[Any, State]]
"""Takes the last token of each caption, and the state of the captioner with a row for each caption.

Returns the log-probabilities of the next tokens, an array or a tensor of (captions, vocabulary), and the next
state. A token that can't come next has -inf.
"""

Select = Callable[[State, NDArray[np.int64]], State]
"""Takes the state of a captioner and some rows, which may repeat; returns the state of these captions."""

# More passes over the vocabulary than this take longer than one partition of it.
_PASSES = 8
# Rounding gives log-probabilities a little above 0.
_ABOVE = 1e-3


@dataclass(frozen=True, kw_only=True)
class Beam:
    """A caption that was found.

    Attributes:
        tokens: Its tokens, without the one that ends it.
        log_probability: Its log-probability, that of the end included.
        state: The state of the machine that it is in.
        met: The positions of the constraints that it meets.
        finished: Whether it ended; otherwise it was cut at the most tokens.
    """

    tokens: tuple[int, ...]
    log_probability: float
    state: int
    met: frozenset[int]
    finished: bool


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """What was found for an image.

    Attributes:
        machine: The machine.
        beams: The captions of all states: in the order of the states, the best first. A state that no caption
            can be in has none.
    """

    machine: StateMachine
    beams: tuple[Beam, ...]

    def best(self, *, at_least: int = 0) -> Beam | None:
        """The most probable caption that meets at least so many of the constraints.

        Where there are fewer constraints than that, it must meet all. None where no such caption was found:
        the model gives its words a probability of 0, or the most tokens are too few for them.
        """
        wanted = min(checked_integer("at_least", at_least, 0), len(self.machine.constraints))
        final = self.machine.final
        beams = [beam for beam in self.beams if len(beam.met) >= wanted and final[beam.state]]
        return max(beams, key=lambda beam: beam.log_probability, default=None)

    def nearest(self) -> Beam:
        """The most probable of the captions that meet most constraints, for where `best` is None.

        Raises:
            OptionError: No caption was found at all: the model gives each a probability of 0.
        """
        final = self.machine.final
        beams = [beam for beam in self.beams if final[beam.state]]
        if not beams:
            raise OptionError("the model must give at least one caption a probability above 0 (got none)")
        return max(beams, key=lambda beam: (len(beam.met), beam.log_probability))


def select_rows(state: Any, rows: NDArray[np.int64]) -> Any:
    """The rows of a state made of arrays or tensors, of which the first dimension is that of the captions.

    They may be in mappings, tuples and lists, also in each other. None stays None.
    """
    if state is None:
        return None
    if isinstance(state, Mapping):
        return {key: select_rows(value, rows) for key, value in state.items()}
    if isinstance(state, tuple | list):
        return type(state)(select_rows(value, rows) for value in state)
    return state[rows]


@dataclass(frozen=True, kw_only=True)
class BeamSearch:
    """The options of the search. The defaults are those of the published code of nocaps's Up-Down.

    Attributes:
        start: The token that captions begin with.
        end: The token that ends them.
        beam_size: The most captions that are kept in each state.
        per_node: The most tokens that a caption goes on with into one state.
        max_steps: The most tokens of a caption, its end included.
    """

    start: int
    end: int
    beam_size: int = 5
    per_node: int = 2
    max_steps: int = 20

    def __post_init__(self) -> None:
        for name, least in (("start", 0), ("end", 0), ("beam_size", 1), ("per_node", 1), ("max_steps", 1)):
            checked_integer(name, getattr(self, name), least)

    def search(
        self,
        step: Step[State],
        state: State,
        machine: StateMachine,
        *,
        select: Select[State] = select_rows,
    ) -> SearchResult:
        """The best captions of each state of a machine.

        Args:
            step: The captioner. It is called with the captions that go on, so the number of rows changes.
            state: Its state at the beginning, with one row.
            machine: Which states captions are in.
            select: How rows are taken from a state of the captioner.

        Raises:
            OptionError: A constraint or the end is not a token that the captioner gives a probability, `end`
                is a token of a constraint, or `step` returns something other than log-probabilities.
        """
        tables = _Tables.of(machine, self.end)
        beams = _Beams.start(self.start)
        for length in range(self.max_steps):
            going = np.flatnonzero(~beams.finished)
            if not len(going):
                break
            returned, state = step(beams.tokens[going, -1], state)
            scores = _checked_scores(returned, len(going), tables.largest)
            # As the published code has it, the first token is chosen among as many as beams are kept.
            per_node = max(self.per_node, self.beam_size) if length == 0 else self.per_node
            beams, rows = _advance(beams, going, scores, tables, self, per_node)
            state = select(state, rows)
        return SearchResult(machine=machine, beams=beams.listed(machine, self.end))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Beams:
    """Captions while they are searched, by state and then the best first; `tokens` begin with the start."""

    tokens: NDArray[np.int64]
    log_probabilities: NDArray[np.float64]
    states: NDArray[np.int64]
    finished: NDArray[np.bool_]

    @classmethod
    def start(cls, token: int) -> _Beams:
        return cls(
            tokens=np.array([[token]], dtype=np.int64),
            log_probabilities=np.zeros(1),
            states=np.zeros(1, dtype=np.int64),
            finished=np.zeros(1, dtype=np.bool_),
        )

    def listed(self, machine: StateMachine, end: int) -> tuple[Beam, ...]:
        found = []
        for row, tokens in enumerate(self.tokens[:, 1:].tolist()):
            finished, state = bool(self.finished[row]), int(self.states[row])
            found.append(
                Beam(
                    tokens=tuple(tokens[: tokens.index(end)] if finished else tokens),
                    log_probability=float(self.log_probabilities[row]),
                    state=state,
                    met=machine.met[state],
                    finished=finished,
                )
            )
        return tuple(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Lists:
    """Lists of numbers of each state, one after the other."""

    starts: NDArray[np.int64]
    values: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, rows: list[list[tuple[int, ...]]], width: int) -> _Lists:
        flat = np.array([value for row in rows for value in row], dtype=np.int64).reshape(-1, width)
        starts = np.cumsum([0, *map(len, rows)])
        return cls(starts=starts, values=tuple(flat.T))

    def of_states(self, states: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """For each of some rows the list of its state: the rows, and the values."""
        counts = self.starts[states + 1] - self.starts[states]
        rows = np.repeat(np.arange(len(states)), counts)
        ends = np.cumsum(counts)
        places = np.arange(len(rows)) - np.repeat(ends - counts, counts) + self.starts[states][rows]
        return rows, *(values[places] for values in self.values)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Tables:
    """A machine as arrays.

    Attributes:
        machine: The machine.
        largest: The largest token that it knows, or the end.
        moves: The tokens of each state that lead elsewhere than most, with their targets.
        leaving: The tokens of each state that do not lead where most do.
    """

    machine: StateMachine
    largest: int
    moves: _Lists
    leaving: _Lists

    @classmethod
    def of(cls, machine: StateMachine, end: int) -> _Tables:
        moves: list[list[tuple[int, ...]]] = []
        leaving: list[list[tuple[int, ...]]] = []
        for state, exceptions in enumerate(machine.exceptions):
            if end in exceptions:
                raise OptionError(f"'end' must not be a token of a constraint (got {end})")
            usual = {token: machine.usual(state, token) for token in exceptions}
            moves.append(
                [(token, to) for token, tos in exceptions.items() for to in tos if to != usual[token]]
            )
            leaving.append([(token,) for token, tos in exceptions.items() if usual[token] not in tos])
        if machine.continues is not None and (end >= len(machine.continues) or machine.continues[end]):
            raise OptionError(
                f"'end' must be a token that begins a word, of those of the machine (got {end})"
            )
        return cls(
            machine=machine,
            largest=max([end, *(token for exceptions in machine.exceptions for token in exceptions)]),
            moves=_Lists.of(moves, 2),
            leaving=_Lists.of(leaving, 1),
        )


def _checked_scores(returned: Any, captions: int, largest: int) -> NDArray[Any]:
    """What `step` returned, as an array."""
    scores = np.asarray(returned)
    if scores.dtype.kind != "f" or scores.ndim != 2 or len(scores) != captions:
        raise OptionError(
            f"'step' must return floats of ({captions}, vocabulary) (got {scores.dtype} of {scores.shape})"
        )
    if largest >= scores.shape[1]:
        raise OptionError(
            f"the tokens of constraints and the end must be below {scores.shape[1]}, the number of tokens"
            f" that 'step' gives a probability (got {largest})"
        )
    return scores


@dataclass(frozen=True, kw_only=True, eq=False)
class _Candidates:
    """What captions may go on with: which caption, with which token, to which state, at which probability."""

    rows: NDArray[np.int64]
    tokens: NDArray[np.int64]
    targets: NDArray[np.int64]
    scores: NDArray[np.float64]

    def take(self, places: NDArray[Any]) -> _Candidates:
        return _Candidates(
            rows=self.rows[places],
            tokens=self.tokens[places],
            targets=self.targets[places],
            scores=self.scores[places],
        )


def _advance(
    beams: _Beams,
    going: NDArray[np.int64],
    scores: NDArray[Any],
    tables: _Tables,
    options: BeamSearch,
    per_node: int,
) -> tuple[_Beams, NDArray[np.int64]]:
    """The captions with one more token, and the rows of `scores` that those which go on come from."""
    found = _of_each_caption(_candidates(beams.states[going], scores, tables, per_node), per_node)
    ended = np.flatnonzero(beams.finished)
    everything = _Candidates(
        rows=np.concatenate([ended, going[found.rows]]),
        tokens=np.concatenate([np.full(len(ended), options.end), found.tokens]),
        targets=np.concatenate([beams.states[ended], found.targets]),
        scores=beams.log_probabilities[np.concatenate([ended, going[found.rows]])]
        + np.concatenate([np.zeros(len(ended)), found.scores]),
    )
    # By state, then the most probable first; of equals the first caption, then the first token.
    order = np.lexsort((everything.tokens, everything.rows, -everything.scores, everything.targets))
    everything = everything.take(order)
    kept = everything.take(_ranks(everything.targets) < options.beam_size)
    row_of = np.full(len(beams.finished), -1, dtype=np.int64)
    row_of[going] = np.arange(len(going))
    finished = kept.tokens == options.end
    advanced = _Beams(
        tokens=np.concatenate([beams.tokens[kept.rows], kept.tokens[:, None]], axis=1),
        log_probabilities=kept.scores,
        states=kept.targets,
        finished=finished,
    )
    return advanced, row_of[kept.rows[~finished]]


def _candidates(
    states: NDArray[np.int64], scores: NDArray[Any], tables: _Tables, per_node: int
) -> _Candidates:
    """The most probable tokens that lead where most do, and all tokens that lead elsewhere."""
    machine = tables.machine
    # Where tokens that continue a word lead elsewhere, a caption has two rows: without them and of them.
    twice = np.flatnonzero(machine.run_on[states] != machine.default[states])
    owners = np.concatenate([np.arange(len(states)), twice])
    usual = scores[owners]
    if machine.continues is not None and len(twice):
        usual[np.ix_(twice, np.flatnonzero(machine.continues))] = -np.inf
        usual[len(states) :, np.flatnonzero(~machine.continues)] = -np.inf
    rows, tokens = tables.leaving.of_states(states[owners])
    usual[rows, tokens] = -np.inf
    rows, tokens, values = _most_probable(usual, per_node)
    again = rows >= len(states)
    targets = np.where(again, machine.run_on[states[owners[rows]]], machine.default[states[owners[rows]]])
    moving, moved, elsewhere = tables.moves.of_states(states)
    found = _Candidates(
        rows=np.concatenate([owners[rows], moving]),
        tokens=np.concatenate([tokens, moved]),
        targets=np.concatenate([targets, elsewhere]),
        scores=np.concatenate([values, scores[moving, moved]]).astype(np.float64),
    )
    if not (found.scores <= _ABOVE).all():
        wrong = found.scores[~(found.scores <= _ABOVE)][0]
        raise OptionError(f"'step' must return log-probabilities, of at most 0 (got {wrong:g})")
    return found.take(found.scores > -np.inf)


def _of_each_caption(found: _Candidates, most: int) -> _Candidates:
    """At most so many candidates of each caption and each state."""
    order = np.lexsort((found.tokens, -found.scores, found.targets, found.rows))
    found = found.take(order)
    groups = found.rows * (found.targets.max(initial=0) + 1) + found.targets
    return found.take(_ranks(groups) < most)


def _ranks(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of each element among those of its group, which are next to each other."""
    places = np.arange(len(groups))
    begins = np.ones(len(groups), dtype=np.bool_)
    begins[1:] = groups[1:] != groups[:-1]
    return places - np.maximum.accumulate(np.where(begins, places, 0))


def _most_probable(
    scores: NDArray[Any], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """The most probable tokens of each row, as rows, tokens and values. It writes over `scores`."""
    most = min(most, scores.shape[1])
    every = np.arange(len(scores))
    if most > _PASSES:
        tokens = np.argpartition(-scores, most - 1, axis=1)[:, :most]
        return np.repeat(every, most), tokens.ravel(), np.take_along_axis(scores, tokens, 1).ravel()
    found, values = [], []
    for _ in range(most):
        tokens = scores.argmax(axis=1)
        found.append(tokens)
        values.append(scores[every, tokens])
        scores[every, tokens] = -np.inf
    return np.tile(every, most), np.concatenate(found), np.concatenate(values)
