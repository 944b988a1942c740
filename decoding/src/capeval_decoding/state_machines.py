"""State machines that follow which constraints a caption has met.

A machine reads a caption token by token. Each state has one target for most tokens, and a few tokens with
other targets; this takes a few kilobytes, where a table of all pairs of states and all words takes megabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capeval.errors import OptionError

__all__ = ["MOST_STATES", "Constraint", "Phrase", "StateMachine", "published_machine", "state_machine"]

MOST_STATES = 4096
"""The most states that a machine may have: beams are searched in each."""

Phrase = tuple[frozenset[int], ...]
"""The tokens allowed at each place of a phrase: the forms of its first word, of its second, and so on."""


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """Something that a caption shall mention.

    Attributes:
        name: What messages and results call it.
        phrases: Any of these phrases meets it.
    """

    name: str
    phrases: tuple[Phrase, ...]

    def __post_init__(self) -> None:
        if not self.phrases:
            raise OptionError(f"constraint {self.name!r} must have at least one phrase (got none)")
        for phrase in self.phrases:
            if not phrase or not all(phrase):
                raise OptionError(
                    f"each phrase of constraint {self.name!r} must have words, and each of its words a token"
                    f" (got {[sorted(place) for place in phrase]})"
                )


@dataclass(frozen=True, kw_only=True, eq=False)
class StateMachine:
    """Which state a caption is in after each of its tokens. State 0 is that before the first.

    Attributes:
        constraints: The constraints.
        default: For each state, the state that tokens lead to unless `exceptions` says otherwise.
        exceptions: For each state, the tokens that lead to other states. A token may lead to several, as in
            the machine of the published code.
        met: For each state, the positions of the constraints that a caption in it has met.
        final: For each state, whether captions in it may be chosen.
        run_on: For each state, the state that tokens which continue a word lead to unless `exceptions` says
            otherwise; equal to `default` where this makes no difference.
        continues: Which tokens continue the word of the token before them; None where no token does.
    """

    constraints: tuple[Constraint, ...]
    default: NDArray[np.int64]
    exceptions: tuple[Mapping[int, tuple[int, ...]], ...]
    met: tuple[frozenset[int], ...]
    final: NDArray[np.bool_]
    run_on: NDArray[np.int64]
    continues: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.default)

    def targets(self, state: int, token: int) -> tuple[int, ...]:
        """The states that a token leads to."""
        return self.exceptions[state].get(token) or (self.usual(state, token),)

    def usual(self, state: int, token: int) -> int:
        """The state that a token leads to where there is no exception."""
        runs_on = self.continues is not None and self.continues[token]
        return int((self.run_on if runs_on else self.default)[state])


# A state of a machine while it is made: the constraints that are met; the places that come next, as
# constraint, phrase and place; the constraints that are met unless the next token continues the last word.
_Key = tuple[frozenset[int], frozenset[tuple[int, int, int]], frozenset[int]]


def state_machine(
    constraints: Sequence[Constraint], *, continues: NDArray[np.bool_] | None = None
) -> StateMachine:
    """The machine of some constraints: it meets one wherever a caption has one of its phrases.

    Args:
        constraints: The constraints.
        continues: For each token of the vocabulary, whether it continues the word of the token before it, as
            "##gy" does. A phrase is then met only if its last word ends with it: "dog" + "##gy" is no dog.

    Raises:
        OptionError: A phrase begins with a token that continues a word, or there are too many states.
    """
    constraints = tuple(constraints)
    if continues is not None:
        _check_beginnings(constraints, continues)
    start: _Key = (frozenset(), frozenset(), frozenset())
    numbers: dict[_Key, int] = {start: 0}
    keys, default, run_on = [start], [], []
    exceptions: list[dict[int, tuple[int, ...]]] = []

    def number(key: _Key) -> int:
        if key not in numbers:
            numbers[key] = len(keys)
            keys.append(key)
            _check_size(len(keys), constraints)
        return numbers[key]

    for key in keys:  # It grows while it is read.
        met, _, pending = key
        default.append(number((met | pending, frozenset(), frozenset())))
        run_on.append(number((met, frozenset(), frozenset())) if pending else default[-1])
        moves: dict[int, tuple[int, ...]] = {}
        for token in sorted(_tokens_of_interest(key, constraints)):
            runs_on = continues is not None and bool(continues[token])
            target = number(_after(key, token, constraints, runs_on, waits=continues is not None))
            if target != (run_on if runs_on else default)[-1]:
                moves[token] = (target,)
        exceptions.append(moves)
    return StateMachine(
        constraints=constraints,
        default=np.array(default, dtype=np.int64),
        exceptions=tuple(exceptions),
        met=tuple(met | pending for met, _, pending in keys),
        final=np.ones(len(keys), dtype=np.bool_),
        run_on=np.array(run_on, dtype=np.int64),
        continues=continues,
    )


def _after(key: _Key, token: int, constraints: Sequence[Constraint], runs_on: bool, *, waits: bool) -> _Key:
    """The state after a token; `waits` for the next token where a phrase ends."""
    met, progress, pending = key
    met = met if runs_on else met | pending
    ended, further = set(), set()
    for at, phrase, place in _places(met, progress, constraints):
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


def _places(
    met: frozenset[int], progress: Iterable[tuple[int, int, int]], constraints: Sequence[Constraint]
) -> list[tuple[int, int, int]]:
    """The places that a next token may be in: those that come next, and the first of every phrase."""
    first = [
        (at, phrase, 0)
        for at, constraint in enumerate(constraints)
        for phrase in range(len(constraint.phrases))
        if at not in met
    ]
    return [each for each in progress if each[0] not in met] + first


def _tokens_of_interest(key: _Key, constraints: Sequence[Constraint]) -> set[int]:
    met, progress, _ = key
    places = _places(met, progress, constraints)
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
            f"{len(constraints)} constraints need more than {MOST_STATES:,} states: give fewer or shorter"
        )


def published_machine(constraints: Sequence[Constraint]) -> StateMachine:
    """The machine of the published code of nocaps's Up-Down, with what it does in its own way.

    State s has met the constraints whose bit is set in s; behind these states come those inside of phrases.
    In the middle of a phrase any other word leads back, also one that begins a phrase: "fire fire hydrant" is
    not seen. The first words of a constraint lead on, and leave captions where they are as well, unless it is
    the last of those that are not met.

    Raises:
        OptionError: A constraint has several phrases, or there are too many states.
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
        met=tuple(frozenset(_bits(state)) for state in default),
        final=np.array([True] * main + [False] * inside),
        run_on=np.array(default, dtype=np.int64),
    )


def _add_phrase(
    default: list[int], moves: list[dict[int, set[int]]], state: int, met: int, phrase: Phrase, *, stays: bool
) -> None:
    """Adds the way from a main state through a phrase to the main state that has met its constraint."""
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


def _bits(number: int) -> list[int]:
    return [at for at in range(number.bit_length()) if number >> at & 1]
