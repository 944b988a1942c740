"""Constrained beam search over the states of a machine (Anderson et al. 2017).

The captioner is a step function: it maps the last token of each caption and the decoder state to the
log-probabilities of all next tokens. Each search handles one image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from capeval.errors import OptionError
from capeval.toolkit import validate_integer
from capeval_decoding.state_machines import StateMachine

__all__ = ["Beam", "BeamSearch", "SearchResult", "Select", "Step", "select_rows"]

State = TypeVar("State")

Step = Callable[[NDArray[np.int64], State], tuple[Any, State]]
"""Step function of a captioner.

It takes the last token of each caption, and the decoder state with one row per caption. It returns the
log-probabilities of the next tokens, an array or tensor of shape (captions, vocabulary), and the next state.
Impossible tokens have -inf.
"""

Select = Callable[[State, NDArray[np.int64]], State]
"""Row selection: maps a decoder state and row indices, which may repeat, to the state of these captions."""

# Above this number, one partition of the vocabulary is faster than a pass for each token.
_MAX_PASSES = 8
# Tolerance, since rounding can produce log-probabilities slightly above 0.
_TOLERANCE = 1e-3


@dataclass(frozen=True, kw_only=True)
class Beam:
    """A caption found by the search.

    Attributes:
        tokens: Tokens without the end token.
        log_probability: Log-probability of the caption, including the end token.
        state: State of the machine after the caption.
        met: Positions of the constraints that the caption meets.
        finished: Whether the caption ended with the end token; if not, it was truncated at `max_steps`.
    """

    tokens: tuple[int, ...]
    log_probability: float
    state: int
    met: frozenset[int]
    finished: bool


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """Result of the search for one image.

    Attributes:
        machine: State machine of the constraints.
        beams: Captions of all states, ordered by state and descending log-probability. Unreachable states
            have no captions.

    Example:
        Token 1 is "a", 2 is "cat", 3 is "dog":

        >>> from capeval_decoding.search import Beam, SearchResult
        >>> from capeval_decoding.state_machines import Constraint, build_state_machine
        >>> machine = build_state_machine([Constraint(name="dog", phrases=((frozenset({3}),),))])
        >>> cat = Beam(tokens=(1, 2), log_probability=-1.5, state=0, met=frozenset(), finished=True)
        >>> dog = Beam(tokens=(1, 3), log_probability=-2.5, state=1, met=frozenset({0}), finished=True)
        >>> result = SearchResult(machine=machine, beams=(cat, dog))
        >>> result.get_best().tokens, result.get_best(at_least=1).tokens
        ((1, 2), (1, 3))
    """

    machine: StateMachine
    beams: tuple[Beam, ...]

    def get_best(self, *, at_least: int = 0) -> Beam | None:
        """Return the most probable caption that meets at least `at_least` constraints.

        If there are fewer constraints, the caption must meet all of them. Return None if no such caption was
        found, because the model assigns its words a probability of 0 or `max_steps` is too small.
        """
        wanted = min(validate_integer("at_least", at_least, 0), len(self.machine.constraints))
        final = self.machine.final
        beams = [beam for beam in self.beams if len(beam.met) >= wanted and final[beam.state]]
        return max(beams, key=lambda beam: beam.log_probability, default=None)

    def get_fallback(self) -> Beam:
        """Return the most probable caption among those that meet the most constraints.

        This is the fallback if `get_best` returns None.

        Raises:
            OptionError: No caption was found, because the model assigns all captions a probability of 0.
        """
        final = self.machine.final
        beams = [beam for beam in self.beams if final[beam.state]]
        if not beams:
            raise OptionError("the model must assign at least one caption a probability above 0 (got none)")
        return max(beams, key=lambda beam: (len(beam.met), beam.log_probability))


def select_rows(state: Any, rows: NDArray[np.int64]) -> Any:
    """Select rows of a state of arrays or tensors with one row per caption.

    Arrays may be nested in mappings, tuples and lists. None is returned unchanged.

    Example:
        >>> import numpy as np
        >>> from capeval_decoding.search import select_rows
        >>> state = {"hidden": np.array([[0.1, 0.2], [0.3, 0.4]]), "attention": None}
        >>> selected = select_rows(state, np.array([1, 1, 0]))
        >>> selected["hidden"].tolist(), selected["attention"]
        ([[0.3, 0.4], [0.3, 0.4], [0.1, 0.2]], None)
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
    """Constrained beam search; the defaults match nocaps's published Up-Down code.

    Attributes:
        start: Start token of captions.
        end: End token of captions.
        beam_size: Maximum number of captions kept in each state.
        per_node: Maximum number of expansions of a caption into one state.
        max_steps: Maximum number of tokens of a caption, including the end token.

    Example:
        Token 0 is the start and end token, 1 is "a", 2 is "cat", 3 is "dog". Row i of `scores` contains
        the log-probabilities of the tokens after token i, so "a dog" has the probability 0.7 * 0.3 * 0.6:

        >>> import numpy as np
        >>> from capeval_decoding.search import BeamSearch
        >>> from capeval_decoding.state_machines import Constraint, build_state_machine
        >>> scores = np.log(np.array([[1, 7, 1, 1], [1, 1, 5, 3], [6, 2, 1, 1], [6, 2, 1, 1]]) / 10)
        >>> machine = build_state_machine([Constraint(name="dog", phrases=((frozenset({3}),),))])
        >>> search = BeamSearch(start=0, end=0)
        >>> best = search.search(lambda tokens, _: (scores[tokens], None), None, machine).get_best(at_least=1)
        >>> best.tokens, round(float(np.exp(best.log_probability)), 3)
        ((1, 3), 0.126)
    """

    start: int
    end: int
    beam_size: int = 5
    per_node: int = 2
    max_steps: int = 20

    def __post_init__(self) -> None:
        for name, least in (("start", 0), ("end", 0), ("beam_size", 1), ("per_node", 1), ("max_steps", 1)):
            validate_integer(name, getattr(self, name), least)

    def search(
        self,
        step: Step[State],
        state: State,
        machine: StateMachine,
        *,
        select: Select[State] = select_rows,
    ) -> SearchResult:
        """Search for the best captions in each state of a machine.

        Args:
            step: Step function of the captioner. It is called only with unfinished captions, so the number of
                rows varies.
            state: Initial decoder state, with one row.
            machine: State machine of the constraints.
            select: Function that selects rows of a decoder state.

        Raises:
            OptionError: A token of a constraint or the end token is outside of the captioner's vocabulary,
                the end token is part of a constraint, or `step` does not return log-probabilities.
        """
        tables = _Tables.of(machine, self.end)
        beams = _Beams.start(self.start)
        for length in range(self.max_steps):
            going = np.flatnonzero(~beams.finished)
            if not len(going):
                break
            returned, state = step(beams.tokens[going, -1], state)
            scores = _check_scores(returned, len(going), tables.largest)
            # As in the published code, the first step expands into `beam_size` tokens.
            per_node = max(self.per_node, self.beam_size) if length == 0 else self.per_node
            beams, rows = _advance(beams, going, scores, tables, self, per_node)
            state = select(state, rows)
        return SearchResult(machine=machine, beams=beams.to_beams(machine, self.end))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Beams:
    """Beams ordered by state and descending score; `tokens` includes the start token."""

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

    def to_beams(self, machine: StateMachine, end: int) -> tuple[Beam, ...]:
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
    """A list of integers or integer tuples for each state, stored as flat arrays."""

    starts: NDArray[np.int64]
    values: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, rows: list[list[tuple[int, ...]]], width: int) -> _Lists:
        flat = np.array([value for row in rows for value in row], dtype=np.int64).reshape(-1, width)
        starts = np.cumsum([0, *map(len, rows)])
        return cls(starts=starts, values=tuple(flat.T))

    def select_states(self, states: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Return the concatenated lists of some rows' states: row indices, then values."""
        counts = self.starts[states + 1] - self.starts[states]
        rows = np.repeat(np.arange(len(states)), counts)
        ends = np.cumsum(counts)
        places = np.arange(len(rows)) - np.repeat(ends - counts, counts) + self.starts[states][rows]
        return rows, *(values[places] for values in self.values)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Tables:
    """Transition tables of a machine, as arrays.

    Attributes:
        machine: State machine.
        largest: Largest token of a constraint, or the end token if it is larger.
        moves: Tokens of each state with a transition to a state other than the usual one, and these targets.
        leaving: Tokens of each state without a transition to the usual state.
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
            usual = {token: machine.get_default_target(state, token) for token in exceptions}
            moves.append(
                [(token, to) for token, tos in exceptions.items() for to in tos if to != usual[token]]
            )
            leaving.append([(token,) for token, tos in exceptions.items() if usual[token] not in tos])
        if machine.continues is not None and (end >= len(machine.continues) or machine.continues[end]):
            raise OptionError(f"'end' must be a token of the machine that begins a word (got {end})")
        return cls(
            machine=machine,
            largest=max([end, *(token for exceptions in machine.exceptions for token in exceptions)]),
            moves=_Lists.of(moves, 2),
            leaving=_Lists.of(leaving, 1),
        )


def _check_scores(returned: Any, captions: int, largest: int) -> NDArray[Any]:
    """Convert the scores returned by `step` to an array and validate them."""
    scores = np.asarray(returned)
    if scores.dtype.kind != "f" or scores.ndim != 2 or len(scores) != captions:
        raise OptionError(
            f"'step' must return floats of ({captions}, vocabulary) (got {scores.dtype} of {scores.shape})"
        )
    if largest >= scores.shape[1]:
        raise OptionError(
            f"'end' and the tokens of constraints must be below {scores.shape[1]}, the number of tokens that"
            f" 'step' returns (got {largest})"
        )
    return scores


@dataclass(frozen=True, kw_only=True, eq=False)
class _Expansions:
    """Beam expansions: parent caption, token, target state, log-probability."""

    rows: NDArray[np.int64]
    tokens: NDArray[np.int64]
    targets: NDArray[np.int64]
    scores: NDArray[np.float64]

    def take(self, places: NDArray[Any]) -> _Expansions:
        return _Expansions(
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
    """Extend each beam by one token.

    Returns:
        The new beams, and for each unfinished one the row of `scores` that it extends.
    """
    found = _limit_expansions(_list_expansions(beams.states[going], scores, tables, per_node), per_node)
    ended = np.flatnonzero(beams.finished)
    everything = _Expansions(
        rows=np.concatenate([ended, going[found.rows]]),
        tokens=np.concatenate([np.full(len(ended), options.end), found.tokens]),
        targets=np.concatenate([beams.states[ended], found.targets]),
        scores=beams.log_probabilities[np.concatenate([ended, going[found.rows]])]
        + np.concatenate([np.zeros(len(ended)), found.scores]),
    )
    # By state, then descending score; ties by caption, then by token.
    order = np.lexsort((everything.tokens, everything.rows, -everything.scores, everything.targets))
    everything = everything.take(order)
    kept = everything.take(_rank_in_groups(everything.targets) < options.beam_size)
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


def _list_expansions(
    states: NDArray[np.int64], scores: NDArray[Any], tables: _Tables, per_node: int
) -> _Expansions:
    """Return the best tokens to the usual state, and all tokens to other states."""
    machine = tables.machine
    # If tokens that continue a word lead to a different state, the caption gets two rows: one without these
    # tokens, and one with only these tokens.
    twice = np.flatnonzero(machine.continuation_targets[states] != machine.default[states])
    owners = np.concatenate([np.arange(len(states)), twice])
    usual = scores[owners]
    if machine.continues is not None and len(twice):
        usual[np.ix_(twice, np.flatnonzero(machine.continues))] = -np.inf
        usual[len(states) :, np.flatnonzero(~machine.continues)] = -np.inf
    rows, tokens = tables.leaving.select_states(states[owners])
    usual[rows, tokens] = -np.inf
    rows, tokens, values = _find_best_tokens(usual, per_node)
    again = rows >= len(states)
    targets = np.where(
        again, machine.continuation_targets[states[owners[rows]]], machine.default[states[owners[rows]]]
    )
    moving, moved, elsewhere = tables.moves.select_states(states)
    found = _Expansions(
        rows=np.concatenate([owners[rows], moving]),
        tokens=np.concatenate([tokens, moved]),
        targets=np.concatenate([targets, elsewhere]),
        scores=np.concatenate([values, scores[moving, moved]]).astype(np.float64),
    )
    if not (found.scores <= _TOLERANCE).all():
        wrong = found.scores[~(found.scores <= _TOLERANCE)][0]
        raise OptionError(f"'step' must return log-probabilities, of at most 0 (got {wrong:g})")
    return found.take(found.scores > -np.inf)


def _limit_expansions(found: _Expansions, most: int) -> _Expansions:
    """Keep at most `most` candidates for each pair of caption and target state."""
    order = np.lexsort((found.tokens, -found.scores, found.targets, found.rows))
    found = found.take(order)
    groups = found.rows * (found.targets.max(initial=0) + 1) + found.targets
    return found.take(_rank_in_groups(groups) < most)


def _rank_in_groups(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each element within its group; groups are contiguous."""
    places = np.arange(len(groups))
    begins = np.ones(len(groups), dtype=np.bool_)
    begins[1:] = groups[1:] != groups[:-1]
    return places - np.maximum.accumulate(np.where(begins, places, 0))


def _find_best_tokens(
    scores: NDArray[Any], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Return rows, tokens and values of each row's best tokens; overwrites `scores`."""
    most = min(most, scores.shape[1])
    every = np.arange(len(scores))
    if most > _MAX_PASSES:
        tokens = np.argpartition(-scores, most - 1, axis=1)[:, :most]
        return np.repeat(every, most), tokens.ravel(), np.take_along_axis(scores, tokens, 1).ravel()
    found, values = [], []
    for _ in range(most):
        tokens = scores.argmax(axis=1)
        found.append(tokens)
        values.append(scores[every, tokens])
        scores[every, tokens] = -np.inf
    return np.tile(every, most), np.concatenate(found), np.concatenate(values)
