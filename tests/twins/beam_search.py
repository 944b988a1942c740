"""Constrained beam search, one caption at a time: every token of every caption into every state."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from capeval_decoding.state_machines import StateMachine

# The log-probabilities of the tokens after some tokens.
Model = Callable[[tuple[int, ...]], Sequence[float]]
# A caption: its tokens, the end included, and its log-probability.
Caption = tuple[tuple[int, ...], float]


def search(
    model: Model, machine: StateMachine, *, end: int, beam_size: int, per_node: int, max_steps: int
) -> dict[int, list[Caption]]:
    """The captions of each state, the most probable first."""
    beams: dict[int, list[Caption]] = {0: [((), 0.0)]}
    for length in range(max_steps):
        limit = max(per_node, beam_size) if length == 0 else per_node
        found: dict[int, list[Caption]] = {}
        for state, captions in sorted(beams.items()):
            for tokens, total in captions:
                if tokens[-1:] == (end,):
                    found.setdefault(state, []).append((tokens, total))
                    continue
                into: dict[int, list[Caption]] = {}
                for token, score in enumerate(model(tokens)):
                    for target in machine.get_targets(state, token):
                        if score > float("-inf"):
                            into.setdefault(target, []).append(((*tokens, token), total + score))
                for target, ways in into.items():
                    found.setdefault(target, []).extend(_best(ways, limit))
        beams = {state: _best(captions, beam_size) for state, captions in found.items()}
    return {state: captions for state, captions in sorted(beams.items()) if captions}


def _best(captions: list[Caption], most: int) -> list[Caption]:
    # Sorting keeps the order of equals: the first caption, then the first token.
    return sorted(captions, key=lambda caption: -caption[1])[:most]
