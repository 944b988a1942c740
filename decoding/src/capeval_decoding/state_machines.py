"""State machines that track which constraints a caption has met.

A machine reads a caption token by token. Each state stores one default target and a few tokens with other
targets. This takes a few kilobytes; a full table of states and tokens would take megabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capeval.errors import OptionError

__all__ = [
    "MOST_STATES",
    "Constraint",
    "Phrase",
    "StateMachine",
    "build_published_machine",
    "build_state_machine",
]

MOST_STATES = 4096
"""Maximum number of states of a machine; the search keeps beams for each state."""

Phrase = tuple[frozenset[int], ...]
"""Allowed tokens at each position of a phrase: the forms of its first word, of its second word, and so on."""


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """A constraint on captions, met by any of its phrases.

    Attributes:
        name: Name in messages and results.
        phrases: Phrases that meet the constraint.
    """

    name: str
    phrases: tuple[Phrase, ...]

    def __post_init__(self) -> None:
        if not self.phrases:
            raise OptionError(f"constraint {self.name!r} must have at least one phrase (got none)")
        for phrase in self.phrases:
            if not phrase or not all(phrase):
                raise OptionError(
                    f"each phrase of constraint {self.name!r} must have at least one word, and each word at"
                    f" least one token (got {[sorted(place) for place in phrase]})"
                )


@dataclass(frozen=True, kw_only=True, eq=False)
class StateMachine:
    """State machine over the tokens of a caption. State 0 is the initial state.

    Attributes:
        constraints: Constraints of the machine.
        default: For each state, the target of all tokens that are not in `exceptions`.
        exceptions: For each state, the tokens with other targets. A token may have several targets, as in the
            machine of the published code.
        met: For each state, the positions of the constraints that captions in this state have met.
        final: For each state, whether captions in this state may be chosen.
        continuation_targets: For each state, the target of tokens that continue a word and are not in
            `exceptions`; equal to `default` if it makes no difference.
        continues: For each token, whether it continues the word of the token before it; None if no token
            does.

    Example:
        Token 4 is "fire", 5 is "hydrant". State 2 follows "fire hydrant":

        >>> from capeval_decoding.state_machines import Constraint, build_state_machine
        >>> hydrant = Constraint(name="fire hydrant", phrases=((frozenset({4}), frozenset({5})),))
        >>> machine = build_state_machine([hydrant])
        >>> machine.get_targets(0, 4), machine.get_targets(1, 5)
        ((1,), (2,))
        >>> machine.met
        (frozenset(), frozenset(), frozenset({0}))
    """

    constraints: tuple[Constraint, ...]
    default: NDArray[np.int64]
    exceptions: tuple[Mapping[int, tuple[int, ...]], ...]
    met: tuple[frozenset[int], ...]
    final: NDArray[np.bool_]
    continuation_targets: NDArray[np.int64]
    continues: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.default)

    def get_targets(self, state: int, token: int) -> tuple[int, ...]:
        """Return the target states of a token."""
        return self.exceptions[state].get(token) or (self.get_default_target(state, token),)

    def get_default_target(self, state: int, token: int) -> int:
        """Return the target state of a token without an exception."""
        runs_on = self.continues is not None and self.continues[token]
        return int((self.continuation_targets if runs_on else self.default)[state])


# A state during construction: the met constraints; the next positions inside of phrases, as (constraint,
# phrase, position); and the pending constraints, which are met unless the next token continues the last word.
_Key = tuple[frozenset[int], frozenset[tuple[int, int, int]], frozenset[int]]


def build_state_machine(
    constraints: Sequence[Constraint], *, continues: NDArray[np.bool_] | None = None
) -> StateMachine:
    """Build a machine that meets a constraint if a caption contains a phrase of it.

    Args:
        constraints: Constraints of the machine.
        continues: For each token of the vocabulary, whether it continues the word of the token before it,
            like "##gy". A phrase is then matched only up to a word boundary: "dog" does not match "dog" +
            "##gy".

    Raises:
        OptionError: A phrase begins with a token that continues a word, or there are too many states.

    Example:
        The machine recognizes "fire fire hydrant". Token 4 is "fire", 5 is "hydrant":

        >>> from capeval_decoding.state_machines import Constraint, build_state_machine
        >>> hydrant = Constraint(name="fire hydrant", phrases=((frozenset({4}), frozenset({5})),))
        >>> machine, state = build_state_machine([hydrant]), 0
        >>> for token in [4, 4, 5]:
        ...     [state] = machine.get_targets(state, token)
        >>> [machine.constraints[at].name for at in machine.met[state]]
        ['fire hydrant']
    """
    constraints = tuple(constraints)
    if continues is not None:
        _check_beginnings(constraints, continues)
    start: _Key = (frozenset(), frozenset(), frozenset())
    numbers: dict[_Key, int] = {start: 0}
    keys, default, continuation_targets = [start], [], []
    exceptions: list[dict[int, tuple[int, ...]]] = []

    def number(key: _Key) -> int:
        if key not in numbers:
            numbers[key] = len(keys)
            keys.append(key)
            _check_size(len(keys), constraints)
        return numbers[key]

    for key in keys:  # number() appends new states during the loop.
        met, _, pending = key
        default.append(number((met | pending, frozenset(), frozenset())))
        continuation_targets.append(number((met, frozenset(), frozenset())) if pending else default[-1])
        moves: dict[int, tuple[int, ...]] = {}
        for token in sorted(_list_relevant_tokens(key, constraints)):
            runs_on = continues is not None and bool(continues[token])
            target = number(_follow_token(key, token, constraints, runs_on, waits=continues is not None))
            if target != (continuation_targets if runs_on else default)[-1]:
                moves[token] = (target,)
        exceptions.append(moves)
    return StateMachine(
        constraints=constraints,
        default=np.array(default, dtype=np.int64),
        exceptions=tuple(exceptions),
        met=tuple(met | pending for met, _, pending in keys),
        final=np.ones(len(keys), dtype=np.bool_),
        continuation_targets=np.array(continuation_targets, dtype=np.int64),
        continues=continues,
    )


def _follow_token(
    key: _Key, token: int, constraints: Sequence[Constraint], runs_on: bool, *, waits: bool
) -> _Key:
    """Return the state after a token; if `waits`, completed phrases become pending."""
    met, progress, pending = key
    met = met if runs_on else met | pending
    ended, further = set(), set()
    for at, phrase, place in _list_positions(met, progress, constraints):
        words = constraints[at].phrases[phrase]
        if token in words[place]:
            if place + 1 == len(words):
                ended.add(at)
            else:
                further.add((at, phrase, place + 1))
    if waits:
        return met, frozenset(further), frozenset(ended)
    met |= ended
    return met, frozenset(each for each in further if each[0] not in met), frozenset()


def _list_positions(
    met: frozenset[int], progress: Iterable[tuple[int, int, int]], constraints: Sequence[Constraint]
) -> list[tuple[int, int, int]]:
    """Return the possible positions of the next token, including phrase starts."""
    first = [
        (at, phrase, 0)
        for at, constraint in enumerate(constraints)
        for phrase in range(len(constraint.phrases))
        if at not in met
    ]
    return [each for each in progress if each[0] not in met] + first


def _list_relevant_tokens(key: _Key, constraints: Sequence[Constraint]) -> set[int]:
    met, progress, _ = key
    places = _list_positions(met, progress, constraints)
    return {token for at, phrase, place in places for token in constraints[at].phrases[phrase][place]}


def _check_beginnings(constraints: Iterable[Constraint], continues: NDArray[np.bool_]) -> None:
    for constraint in constraints:
        for phrase in constraint.phrases:
            tokens = [token for place in phrase for token in place]
            if max(tokens) >= len(continues) or min(tokens) < 0:
                raise OptionError(
                    f"the tokens of constraint {constraint.name!r} must be from 0 to {len(continues) - 1},"
                    f" as in 'continues' (got {sorted(tokens)})"
                )
            wrong = sorted(token for token in phrase[0] if continues[token])
            if wrong:
                raise OptionError(
                    f"a phrase of constraint {constraint.name!r} must begin with tokens that begin a word"
                    f" (got {wrong})"
                )


def _check_size(states: int, constraints: Sequence[Constraint]) -> None:
    if states > MOST_STATES:
        raise OptionError(
            f"{len(constraints)} constraints need more than {MOST_STATES:,} states: use fewer constraints or"
            " shorter phrases"
        )


def build_published_machine(constraints: Sequence[Constraint]) -> StateMachine:
    """Build the machine of the published Up-Down code of nocaps, including its quirks.

    Bit i of a main state is set if constraint i is met; the states inside of phrases follow the main states.
    Inside of a phrase, any unexpected word leads back to the main state, even a word that begins a phrase:
    "fire fire hydrant" is not recognized. The first word of a constraint leads forward and also stays in the
    main state, unless this is the last unmet constraint.

    Raises:
        OptionError: A constraint has several phrases, or there are too many states.

    Example:
        Token 4 is "fire", 5 is "hydrant". "fire" leads to state 2, "fire hydrant" to state 1, and "fire fire"
        back to state 0:

        >>> from capeval_decoding.state_machines import Constraint, build_published_machine
        >>> hydrant = Constraint(name="fire hydrant", phrases=((frozenset({4}), frozenset({5})),))
        >>> machine = build_published_machine([hydrant])
        >>> machine.get_targets(0, 4), machine.get_targets(2, 5), machine.get_targets(2, 4)
        ((2,), (1,), (0,))
    """
    constraints = tuple(constraints)
    for constraint in constraints:
        if len(constraint.phrases) != 1:
            raise OptionError(
                f"constraint {constraint.name!r} must have one phrase in the published machine"
                f" (got {len(constraint.phrases)})"
            )
    phrases = [constraint.phrases[0] for constraint in constraints]
    main = 1 << len(phrases)
    _check_size(main * (1 + sum(len(phrase) - 1 for phrase in phrases)), constraints)
    default = list(range(main))
    moves: list[dict[int, set[int]]] = [{} for _ in range(main)]
    for at, phrase in enumerate(phrases):
        for state in (state for state in range(main) if not state >> at & 1):
            last_unmet = main - 1 - state < 2 << at
            _add_phrase(default, moves, state, state | 1 << at, phrase, stays=not last_unmet)
    inside = len(default) - main
    return StateMachine(
        constraints=constraints,
        default=np.array(default, dtype=np.int64),
        exceptions=tuple({token: tuple(sorted(to)) for token, to in each.items()} for each in moves),
        met=tuple(frozenset(_list_bits(state)) for state in default),
        final=np.array([True] * main + [False] * inside),
        continuation_targets=np.array(default, dtype=np.int64),
    )


def _add_phrase(
    default: list[int], moves: list[dict[int, set[int]]], state: int, met: int, phrase: Phrase, *, stays: bool
) -> None:
    """Add the path of a phrase from a main state to the one that meets it."""
    source = state
    for place, tokens in enumerate(phrase):
        target = met
        if place + 1 < len(phrase):
            target = len(default)
            default.append(state)
            moves.append({})
        for token in tokens:
            targets = moves[source].setdefault(token, set())
            targets.add(target)
            if place == 0 and stays:
                targets.add(state)
            elif place == 0:
                targets.discard(state)
        source = target


def _list_bits(number: int) -> list[int]:
    return [at for at in range(number.bit_length()) if number >> at & 1]
